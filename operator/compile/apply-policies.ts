// Merges all TenantPolicies for each namespace: the strictest bound applies, and rights add up.

import { limitMembers } from '../../core/catalog/limits.ts';
import type { RateLimits } from '../../core/contract/routing-table.ts';
import type { TenantPolicySpec } from '../resources/tenant-policy.ts';
import type {
  CloudIdentityRight,
  NamespaceRecord,
  PlatformSettings,
  TenantBudget,
} from '../watch/snapshot.ts';
import { buildLimits } from './limits.ts';
import { compareText } from './order.ts';
import { scaled } from './price.ts';
import { matches } from './selector.ts';

/** @param base what the settings say; its lists count as policies do. */
export function applyPolicies(
  base: PlatformSettings,
  policies: readonly TenantPolicySpec[],
  namespaces: readonly NamespaceRecord[],
): PlatformSettings {
  if (policies.length === 0) return base;
  const platform = new Set(base.platformNamespaces);
  const egress = grants(base.egressAllow.map(({ cidr, namespaces: names }) => [cidr, names] as const));
  const prefixes = grants((base.reservedPrefixes ?? []).map((one) => [one.prefix, one.namespaces] as const));
  const budgets = new Map((base.tenantBudgets ?? []).map((one) => [one.namespace, one.budgets]));
  const limits = new Map((base.tenantLimits ?? []).map((one) => [one.namespace, one.limits]));
  const identities: CloudIdentityRight[] = [...(base.cloudIdentities ?? [])];
  for (const policy of policies) {
    const names = namesIn(policy, namespaces);
    // A right of all namespaces is one of those to come as well.
    const granted = selectsAll(policy) ? ['*'] : names;
    if (policy.role === 'Platform') for (const name of names) platform.add(name);
    for (const cidr of policy.egress?.allow ?? []) egress.add(cidr, granted);
    for (const prefix of policy.modelPrefixes ?? []) prefixes.add(prefix, granted);
    for (const { type, roles } of policy.cloudIdentities ?? [])
      if (granted.length > 0)
        identities.push({ type, ...(roles === undefined ? {} : { roles }), namespaces: granted });
    for (const name of names) {
      if (policy.budgets !== undefined)
        budgets.set(name, strictestBudgets([...(budgets.get(name) ?? []), ...policy.budgets]));
      if (policy.limits !== undefined)
        limits.set(name, strictestLimits(limits.get(name) ?? {}, policy.limits));
    }
  }
  return {
    ...base,
    platformNamespaces: [...platform].sort(compareText),
    egressAllow: egress
      .list()
      .flatMap(([cidr, names]) => (names.length === 0 ? [] : { cidr, namespaces: names })),
    reservedPrefixes: prefixes.list().map(([prefix, names]) => ({ prefix, namespaces: names })),
    ...(identities.length === 0 ? {} : { cloudIdentities: identities }),
    tenantBudgets: byNamespace(budgets).flatMap(([namespace, of]) =>
      of.length === 0 ? [] : { namespace, budgets: of },
    ),
    tenantLimits: byNamespace(limits).flatMap(([namespace, of]) =>
      Object.keys(of).length === 0 ? [] : { namespace, limits: of },
    ),
  };
}

/** The named namespaces, existing or not, and the selected ones. */
export function namesIn({ namespaces }: TenantPolicySpec, known: readonly NamespaceRecord[]): string[] {
  const { names = [], selector } = namespaces;
  const selected =
    selector === undefined
      ? []
      : known.filter(({ labels }) => matches(selector, labels)).map(({ name }) => name);
  return [...new Set([...names, ...selected])].sort(compareText);
}

function selectsAll({ namespaces: { selector } }: TenantPolicySpec): boolean {
  if (selector === undefined) return false;
  return (
    Object.keys(selector.matchLabels ?? {}).length === 0 && (selector.matchExpressions ?? []).length === 0
  );
}

/** The smallest limit of each period and action: a budget that warns never replaces one that blocks. */
function strictestBudgets(budgets: readonly TenantBudget[]): readonly TenantBudget[] {
  const strictest = new Map<string, TenantBudget>();
  for (const budget of budgets) {
    const place = `${budget.period} ${budget.action}`;
    const other = strictest.get(place);
    if (other === undefined || isStricter(budget, other)) strictest.set(place, budget);
  }
  return [...strictest.values()]
    .sort((a, b) => compareText(a.period, b.period) || compareText(a.action, b.action))
    .map(({ period, limit, action, warnPercent }) => ({ period, limit, action, warnPercent }));
}

function isStricter(a: TenantBudget, b: TenantBudget): boolean {
  const [limitOfA, limitOfB] = [scaled(a.limit, 6), scaled(b.limit, 6)];
  return limitOfA === limitOfB ? a.warnPercent < b.warnPercent : limitOfA < limitOfB;
}

type Limits = { readonly [Name in keyof RateLimits]?: number | undefined };

function strictestLimits(a: Limits, b: Limits): RateLimits {
  const smallest = limitMembers.map((member) => {
    const [ofA = Number.POSITIVE_INFINITY, ofB = Number.POSITIVE_INFINITY] = [a[member], b[member]];
    const least = Math.min(ofA, ofB);
    return [member, Number.isFinite(least) ? least : undefined];
  });
  return buildLimits(Object.fromEntries(smallest)).limits ?? {};
}

function byNamespace<T>(map: ReadonlyMap<string, T>): [string, T][] {
  return [...map].sort(([a], [b]) => compareText(a, b));
}

/** What is granted, and to whom; `*` means all. */
function grants(begin: readonly (readonly [string, readonly string[]])[]) {
  const byThing = new Map<string, Set<string>>();
  const add = (thing: string, names: readonly string[]): void => {
    byThing.set(thing, new Set([...(byThing.get(thing) ?? []), ...names]));
  };
  for (const [thing, names] of begin) add(thing, names);
  return {
    add,
    list: (): readonly (readonly [string, string[]])[] =>
      byNamespace(byThing).map(([thing, names]) => [
        thing,
        names.has('*') ? ['*'] : [...names].sort(compareText),
      ]),
  };
}
