// What is to be written into the status of a TenantPolicy now? Nothing, nothing yet, or this. Pure, as for the kinds of tenants.

import { isDeepStrictEqual } from 'node:util';
import { type BudgetPeriod, periodAt } from '../../core/contract/budget.ts';
import type { Spent } from '../../core/contract/spend.ts';
import { isRangeWithin } from '../../core/egress/address-rules.ts';
import { timeOf } from '../../core/kube/time.ts';
import { namesIn } from '../compile/apply-policies.ts';
import { invalid } from '../compile/checks/invalid.ts';
import { readyCondition } from '../compile/ready.ts';
import { type Condition, fails, holds } from '../compile/verdict.ts';
import { cutText } from '../cut-text.ts';
import type { PodsState } from '../pods/pods-state.ts';
import type { TenantPolicySpec, TenantPolicyStatus } from '../resources/tenant-policy.ts';
import { dollarsOf, microdollarsOf } from '../usage/dollars.ts';
import { useIn } from '../usage/spend-book.ts';
import type { CheckedPolicy, NamespaceRecord } from '../watch/snapshot.ts';
import { earliest } from './earliest.ts';
import { isSameStatus } from './same-status.ts';
import { settleProgrammed } from './settle-programmed.ts';
import { settleProgress } from './settle-progress.ts';
import { stateOf } from './state-of.ts';

export interface PolicyFacts {
  /** Name of this release. */
  readonly instance: string;
  readonly policy: CheckedPolicy;
  readonly present: TenantPolicyStatus | undefined;
  /** Table generation in which its present form first appeared; undefined before that one is published. */
  readonly since: number | undefined;
  readonly pods: PodsState;
  readonly namespaces: readonly NamespaceRecord[];
  /** With what all policies say. */
  readonly platformNamespaces: readonly string[];
  /** What NetworkPolicies of the chart let pass on every port; undefined: there are none. */
  readonly networkPolicyRanges?: readonly string[] | undefined;
  /** What the keys of a namespace have spent; undefined: that is not known, and what was said of it stays. */
  readonly spentOf: ((namespace: string) => Spent | undefined) | undefined;
  readonly nowMs: number;
  /** When the first `wait` on this form was given. */
  readonly waitingSinceMs: number;
}

export type PolicyDecision =
  /** Decide again then, where a time is given. */
  | { readonly type: 'same'; readonly untilMs?: number | undefined }
  | { readonly type: 'write'; readonly status: TenantPolicyStatus; readonly untilMs?: number | undefined };

const messageCharsMax = 32_768;
const budgetsMax = 10;
const namedMax = 3;
const platformNamespacesMax = 1000;
/** For so long, the release that wrote before may be away. */
const othersMs = 60_000;
/** Between two writes that tell of spend alone. */
const usageGapMs = 60_000;

export function decidePolicyStatus(facts: PolicyFacts): PolicyDecision {
  const { policy, present, namespaces, nowMs } = facts;
  const { object, spec, problems } = policy;
  const generation = typeof object.metadata.generation === 'number' ? object.metadata.generation : undefined;
  const left = leftToAnother(facts, generation);
  if (left !== undefined) return left;
  const accepted = problems.length === 0 ? holds('Accepted', 'Accepted') : refused(policy);
  const uses = usesOf(facts);
  const exhausted = uses === undefined ? saidExhausted(present) : exhaustedCondition(uses);
  const ofGeneration = generation === undefined ? {} : { generation };
  const verdict = { kind: 'TenantPolicy', ...ofGeneration, isInTable: problems.length === 0 };
  const programmed = settleProgrammed({ ...facts, verdict, conditions: [accepted] });
  const judged = [
    accepted,
    ...closedRanges(facts),
    ...(exhausted === undefined ? [] : [exhausted]),
    programmed.condition,
  ];
  const ready = readyCondition(judged, {});
  const progress = settleProgress(ready, generation, present, nowMs);
  const usage = usageOf(uses, present, nowMs);
  const conditions = [...judged, ready, ...(progress.condition === undefined ? [] : [progress.condition])];
  const state = stateOf({ conditions, isHeld: false });
  const until = state === 'OverBudget' ? untilOf(uses, present, nowMs) : undefined;
  const status: TenantPolicyStatus = {
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    instance: facts.instance,
    state,
    ...(until === undefined ? {} : { until }),
    namespaces: spec === undefined ? 0 : existingIn(spec, namespaces).length,
    ...(usage.value === undefined ? {} : { usage: usage.value }),
    ...(spec?.role === 'Platform'
      ? { platformNamespaces: facts.platformNamespaces.slice(0, platformNamespacesMax) }
      : {}),
    ...(programmed.where === undefined ? {} : { programmed: programmed.where }),
    conditions: conditions.map((condition) => stored(condition, generation, present, nowMs)),
  };
  const untilMs = earliest(programmed.againMs, progress.againMs, usage.againMs);
  if (isSameStatus(status, present)) return { type: 'same', untilMs };
  const { holdUntilMs } = programmed;
  if (holdUntilMs !== undefined && nowMs < holdUntilMs) return { type: 'same', untilMs: holdUntilMs };
  return { type: 'write', status, untilMs };
}

/**
 * Releases that go by one policy would answer each other's writes for ever: the first by name writes, while it follows edits. The object
 * by which the admission policies of a release go is its own: another one may be uninstalled, and follow nothing any more.
 */
function leftToAnother(
  { policy, present, instance, nowMs, waitingSinceMs }: PolicyFacts,
  generation: number | undefined,
): PolicyDecision | undefined {
  const rankOf = (release: string): string =>
    policy.object.metadata.name === `${release}-platform` ? '' : release;
  if (present?.instance === undefined || rankOf(present.instance) >= rankOf(instance)) return undefined;
  if (present.observedGeneration === generation) return { type: 'same' };
  const untilMs = waitingSinceMs + othersMs;
  return nowMs < untilMs ? { type: 'same', untilMs } : undefined;
}

function refused({ problems, spec, heldGeneration }: CheckedPolicy): Condition {
  const { reason, message } = invalid(problems);
  const fault = message.replace(/[.]$/, '');
  return fails('Accepted', { reason, message: `${fault}; until that is corrected, ${inForce()}` });

  function inForce(): string {
    if (spec === undefined) return 'no part of this policy is in force';
    return heldGeneration === undefined
      ? 'only its valid fields are in force'
      : `generation ${heldGeneration} stays in force`;
  }
}

/** The operator does not widen its own walls: what it may not open, it says. */
function closedRanges({ policy: { spec }, networkPolicyRanges }: PolicyFacts): readonly Condition[] {
  if (networkPolicyRanges === undefined) return [];
  const closed = (spec?.egress?.allow ?? []).filter(
    (range) => !networkPolicyRanges.some((open) => isRangeWithin(range, open)),
  );
  if (closed.length === 0) return [];
  const named = closed.slice(0, namedMax).join(', ');
  const more = closed.length > namedMax ? ` and ${closed.length - namedMax} more` : '';
  const rules = closed.slice(0, namedMax).map((cidr) => `{ipBlock: {cidr: "${cidr}"}}`);
  return [
    holds(
      'Degraded',
      'ClosedByNetworkPolicy',
      `spec.egress.allow: the NetworkPolicies of the chart let gateways reach ${named}${more} on the ports of networkPolicy.upstreamPorts alone. Where the network enforces them, run helm upgrade with networkPolicy.extraEgress: [{to: [${rules.join(', ')}]}]`,
    ),
  ];
}

function existingIn(spec: TenantPolicySpec, namespaces: readonly NamespaceRecord[]): readonly string[] {
  const existing = new Set(namespaces.map(({ name }) => name));
  return namesIn(spec, namespaces).filter((name) => existing.has(name));
}

interface Use {
  readonly namespace: string;
  readonly period: BudgetPeriod;
  readonly spend: string;
  readonly limit: string;
  readonly share: number;
  /** A blocking budget that is used up. */
  readonly isExhausted: boolean;
}

/** None without budgets; undefined while the ledger was not heard. */
function usesOf({ policy: { spec }, namespaces, spentOf, nowMs }: PolicyFacts): readonly Use[] | undefined {
  const { budgets = [] } = spec ?? {};
  if (spec === undefined || budgets.length === 0) return [];
  if (spentOf === undefined) return undefined;
  return existingIn(spec, namespaces).flatMap((namespace) =>
    budgets.map(({ period, limit, action }): Use => {
      const spend = dollarsOf(BigInt(useIn(spentOf(namespace), period, nowMs).costPicodollars));
      const [spentMicros, limitMicros] = [microdollarsOf(spend) ?? 0n, microdollarsOf(limit) ?? 0n];
      const share = limitMicros === 0n ? Number.POSITIVE_INFINITY : Number(spentMicros) / Number(limitMicros);
      const isExhausted = action === 'Block' && spentMicros >= limitMicros;
      return { namespace, period, spend, limit, share, isExhausted };
    }),
  );
}

/** The figures stand in the usage; the words do not change with each call. */
function exhaustedCondition(uses: readonly Use[]): Condition | undefined {
  const names = exhaustedIn(uses);
  if (names.length === 0) return undefined;
  const named = names.slice(0, namedMax).join(', ');
  const more = names.length > namedMax ? ` and ${names.length - namedMax} more` : '';
  const whose = names.length === 1 ? 'the namespace' : 'the namespaces';
  return holds(
    'BudgetExhausted',
    'BudgetExhausted',
    `the budget of ${whose} ${named}${more} is used up: calls of their ApiKeys are refused until the next period, or until spec.budgets allows more`,
  );
}

function saidExhausted(present: TenantPolicyStatus | undefined): Condition | undefined {
  const before = present?.conditions?.find(({ type }) => type === 'BudgetExhausted');
  return before && holds('BudgetExhausted', 'BudgetExhausted', before.message);
}

/** End of the last used-up period; undefined if one of them has no end. */
function untilOf(
  uses: readonly Use[] | undefined,
  present: TenantPolicyStatus | undefined,
  nowMs: number,
): string | undefined {
  if (uses === undefined) return present?.until;
  const ends = uses
    .filter(({ isExhausted }) => isExhausted)
    .map(({ period }) => periodAt(period, nowMs).endMs);
  const last = Math.max(...ends.map((end) => end ?? Number.POSITIVE_INFINITY));
  return Number.isFinite(last) ? timeOf(last) : undefined;
}

function exhaustedIn(uses: readonly Use[]): readonly string[] {
  return [...new Set(uses.filter(({ isExhausted }) => isExhausted).map(({ namespace }) => namespace))];
}

type Usage = NonNullable<TenantPolicyStatus['usage']>;

interface SettledUsage {
  readonly value?: Usage | undefined;
  readonly againMs?: number;
}

function usageOf(
  uses: readonly Use[] | undefined,
  present: TenantPolicyStatus | undefined,
  nowMs: number,
): SettledUsage {
  const before = present?.usage;
  if (uses === undefined) return { value: before };
  if (uses.length === 0) return {};
  const usage: Usage = {
    observedAt: timeOf(nowMs),
    exhaustedNamespaces: exhaustedIn(uses).length,
    budgets: uses
      .toSorted((a, b) => b.share - a.share || (a.namespace < b.namespace ? -1 : 1))
      .slice(0, budgetsMax)
      .map(({ namespace, period, spend, limit }) => ({ namespace, period, spend, limit })),
  };
  if (before === undefined) return { value: usage };
  if (isDeepStrictEqual({ ...usage, observedAt: before.observedAt }, before)) return { value: before };
  const againMs = Date.parse(before.observedAt) + usageGapMs;
  const isPassed = before.exhaustedNamespaces !== usage.exhaustedNamespaces;
  return isPassed || nowMs >= againMs ? { value: usage } : { value: before, againMs };
}

function stored(
  { type, status, reason, message }: Condition,
  generation: number | undefined,
  present: TenantPolicyStatus | undefined,
  nowMs: number,
): NonNullable<TenantPolicyStatus['conditions']>[number] {
  const before = present?.conditions?.find((one) => one.type === type);
  return {
    type,
    status,
    reason,
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    lastTransitionTime: before?.status === status ? before.lastTransitionTime : timeOf(nowMs),
    message: cutText(message, messageCharsMax),
  };
}
