// Budgets of ApiKeys and namespaces. Those of ApiKeys are watched in the cluster. Those of namespaces come with the routing table, so
// they equal those of the gateways, also while the operator is away.

import { z } from 'zod';
import type { Clock } from '../core/clock.ts';
import { type BudgetPeriod, budgetPeriodSchema } from '../core/contract/budget.ts';
import type { Manifest } from '../core/contract/manifest.ts';
import type { KubeClient } from '../core/kube/client.ts';
import { isRecord, type KubeObject } from '../core/kube/object.ts';
import { collectionPath, type Resource } from '../core/kube/paths.ts';
import { type Reflector, startReflector, type Trouble } from '../core/kube/watch.ts';
import { picodollarsOf } from './money.ts';
import type { Spender } from './store/store.ts';

export interface Budget {
  readonly period: BudgetPeriod;
  readonly limitPicodollars: bigint;
  /** Warn: an event reports it, and nothing is refused. */
  readonly action: 'Block' | 'Warn';
  /** Percentage of the limit: above it, a budget counts as nearly used up. */
  readonly warnPercent: number;
}

/** Also where it is not said. */
const WARN_PERCENT = 80;

/** Budgets of one key, or of all keys of a namespace together. */
export interface Budgeted {
  readonly namespace: string;
  readonly spender: Spender;
  /** As records name it: `namespace/name` of an ApiKey, or a namespace. */
  readonly name: string;
  /** Of an ApiKey, RFC 3339. */
  readonly createdAt?: string | undefined;
  /** Each period once, the shortest first. */
  readonly budgets: readonly Budget[];
}

export interface BudgetWatch {
  /** By namespace, its own before those of its keys; undefined while they have not all been read. */
  budgets(): readonly Budgeted[] | undefined;
  close(): Promise<void>;
}

export interface BudgetWatchOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  /** From 0 up to 1. */
  random(): number;
  /** Namespaces whose ApiKeys are followed; empty: the whole cluster. */
  readonly tenantNamespaces: readonly string[];
  /** Each namespace once, the identical list while nothing has changed; undefined before the first table. */
  tenantBudgets(): readonly TenantBudgets[] | undefined;
  onTrouble(trouble: Trouble): void;
}

const apiKeys: Resource = { group: 'penstock.dev', version: 'v1alpha1', plural: 'apikeys' };
/** The shortest first. */
const PERIODS = budgetPeriodSchema.options;

/** As an ApiKey has them; other fields are not read. */
const budgetsSchema = z
  .array(
    z
      .object({
        period: budgetPeriodSchema,
        limit: z.string(),
        action: z.enum(['Block', 'Warn']).default('Block'),
        warnPercent: z.int().default(WARN_PERCENT),
      })
      .transform(({ limit, ...budget }, context): Budget => {
        const limitPicodollars = picodollarsOf(limit);
        if (limitPicodollars !== undefined) return { ...budget, limitPicodollars };
        context.addIssue({ code: 'custom', message: 'must be dollars', path: ['limit'] });
        return z.NEVER;
      }),
  )
  .transform((budgets) => budgets.toSorted(byPeriod));

function byPeriod(a: Budget, b: Budget): number {
  return PERIODS.indexOf(a.period) - PERIODS.indexOf(b.period);
}

export interface TenantBudgets {
  readonly namespace: string;
  /** Each period once for each action, the shortest first. */
  readonly budgets: readonly Budget[];
}

type Settings = Manifest['settings'];

/** Blocking and warning budgets of each namespace, as in the table. */
export function readTenantBudgets({
  tenantBudgets = [],
  tenantWarnings = [],
}: Pick<Settings, 'tenantBudgets' | 'tenantWarnings'>): readonly TenantBudgets[] {
  const all = [
    ...tenantBudgets.map((one) => ({ ...one, action: 'Block' as const })),
    ...tenantWarnings.map((one) => ({ ...one, action: 'Warn' as const })),
  ];
  return [...Map.groupBy(all, ({ namespace }) => namespace)].map(([namespace, of]) => ({
    namespace,
    budgets: of
      .flatMap(({ action, budgets }) =>
        budgets.map(({ period, limitMicrodollars }): Budget => {
          const limitPicodollars = BigInt(limitMicrodollars) * picodollarsPerMicrodollar;
          return { period, action, limitPicodollars, warnPercent: WARN_PERCENT };
        }),
      )
      .toSorted(byPeriod),
  }));
}

const picodollarsPerMicrodollar = 1_000_000n;

export function watchBudgets(options: BudgetWatchOptions): BudgetWatch {
  const { client, clock, tenantNamespaces, onTrouble } = options;
  const paths =
    tenantNamespaces.length === 0
      ? [collectionPath(apiKeys)]
      : tenantNamespaces.map((namespace) => collectionPath(apiKeys, namespace));
  let sorted: readonly Budgeted[] | undefined;
  let sortedWith: readonly TenantBudgets[] | undefined;
  const watches = paths.map(
    (path): Reflector<Budgeted | undefined> =>
      startReflector({
        client,
        clock,
        random: () => options.random(),
        path,
        convert: readBudgets,
        onEvent: (event) => {
          // Most that happens to keys is about something else: usage is written to each that is used.
          const isOther =
            event.type !== 'upserted' || event.object !== undefined || event.previous !== undefined;
          if (isOther) sorted = undefined;
        },
        onTrouble,
      }),
  );

  return {
    budgets() {
      const tenantBudgets = options.tenantBudgets();
      if (tenantBudgets === undefined || !watches.every((watch) => watch.hasSynced())) return undefined;
      if (sortedWith !== tenantBudgets) sorted = undefined;
      sortedWith = tenantBudgets;
      sorted ??= [
        ...tenantBudgets.map(
          ({ namespace, budgets }): Budgeted => ({
            namespace,
            spender: 'namespace',
            name: namespace,
            budgets,
          }),
        ),
        ...watches.flatMap(({ store }) => [...store.values()].filter((one) => one !== undefined)),
      ].sort((a, b) => order(a.namespace, b.namespace) || order(a.name, b.name));
      return sorted;
    },
    async close() {
      await Promise.all(watches.map((watch) => watch.close()));
    },
  };
}

/** A namespace is the beginning of the names of its keys, and so before them. */
function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Undefined where it has none, or none that anybody can keep. */
export function readBudgets({ metadata, spec }: KubeObject): Budgeted | undefined {
  const { namespace = '', name, creationTimestamp: createdAt } = metadata;
  const budgets = budgetsSchema.safeParse(isRecord(spec) ? spec.budgets : undefined).data ?? [];
  return budgets.length === 0
    ? undefined
    : { namespace, spender: 'apiKey', name: `${namespace}/${name}`, createdAt, budgets };
}
