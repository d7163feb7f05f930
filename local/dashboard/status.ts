// What is the status of an object in local mode? The verdict of the compile, and whether the gateway in this process has it.

import type { UpstreamHealth } from '../../core/contract/exchange.ts';
import { isRecord } from '../../core/kube/object.ts';
import { timeOf } from '../../core/kube/time.ts';
import { countTargets } from '../../operator/compile/count-targets.ts';
import { faultOf, readyCondition, wishOf } from '../../operator/compile/ready.ts';
import type { Condition, ProviderVerdict, Verdict } from '../../operator/compile/verdict.ts';
import { formatRemark, type Remark } from '../manifests.ts';
import { healthCondition, troublesHere } from './health.ts';
import type { SpendStatus } from './spend-status.ts';

export interface StatusFacts {
  readonly verdict: Verdict;
  /** The gateway goes by this form of the object, be it that it leaves it out. */
  readonly isInUse: boolean;
  /** Of the table in use. */
  readonly tableGeneration: number;
  /** Why the manifests were not taken, where they were not. */
  readonly problems: readonly Remark[];
  /** Of a Provider: what the gateway has learnt of it. */
  readonly health: readonly UpstreamHealth[];
  /** Of an ApiKey: what is known of what it spent. */
  readonly spend: SpendStatus | undefined;
}

/** @param before The status so far. */
export function statusOf(facts: StatusFacts, before: unknown, nowMs: number): Record<string, unknown> {
  const { verdict } = facts;
  const programmed = programmedCondition(facts);
  // An unhealthy upstream is reported, and does not affect Ready.
  const conditions = [
    ...verdict.conditions,
    ...healthOf(facts),
    ...(facts.spend?.conditions ?? []),
    programmed,
    readyCondition([...verdict.conditions, programmed], verdict),
  ];
  return {
    ...(verdict.generation === undefined ? {} : { observedGeneration: verdict.generation }),
    ...detailsOf(verdict),
    ...(facts.health.length === 0 ? {} : { health: podsOf(facts, before, nowMs) }),
    ...(facts.spend?.usage === undefined ? {} : { usage: facts.spend.usage }),
    conditions: conditions.map((condition) => ({
      ...condition,
      ...(verdict.generation === undefined ? {} : { observedGeneration: verdict.generation }),
      lastTransitionTime: transitionTime(condition, before) ?? timeOf(nowMs),
    })),
  };
}

function healthOf({ verdict, health }: StatusFacts): readonly Condition[] {
  return verdict.kind === 'Provider' && verdict.isInTable
    ? [healthCondition(health, keysInUse(verdict))]
    : [];
}

/** There is one. */
function podsOf(facts: StatusFacts, before: unknown, nowMs: number) {
  const { verdict, health } = facts;
  const isHealthy = healthOf(facts).some(({ status }) => status === 'True');
  const isInTable = verdict.kind === 'Provider' && verdict.isInTable;
  const troubles = isInTable ? troublesHere(health, keysInUse(verdict), before, nowMs) : undefined;
  return {
    healthyPods: isHealthy ? 1 : 0,
    totalPods: 1,
    ...(troubles === undefined ? {} : { troubles }),
  };
}

function keysInUse({ keys }: ProviderVerdict): readonly string[] {
  return keys.filter(({ state }) => state === 'Active').map(({ name }) => name);
}

function programmedCondition({ verdict, isInUse, tableGeneration, problems }: StatusFacts): Condition {
  const { conditions, isInTable } = verdict;
  const find = (wanted: string) => conditions.find(({ type }) => type === wanted);
  const isByWish = wishOf(conditions) !== undefined || find('Expired') !== undefined;
  const fault = faultOf(conditions) ?? (isByWish ? undefined : (find('Conflicted') ?? find('Accepted')));
  if (!isInTable && fault !== undefined) {
    const message = `not in the routing table; see the condition ${fault.type}`;
    return { type: 'Programmed', status: 'False', reason: 'NotProgrammed', message };
  }
  if (!isInUse) {
    const [first] = problems;
    const why = first === undefined ? '' : `: ${formatRemark(first)}`;
    const message = `the manifests have an error; the last good ones stay live until it is fixed${why}`;
    return { type: 'Programmed', status: 'False', reason: 'Pending', message };
  }
  const message = `${isInTable ? 'in use' : 'out of service'} at table generation ${tableGeneration}`;
  return { type: 'Programmed', status: 'True', reason: 'Programmed', message };
}

function detailsOf(verdict: Verdict): Record<string, unknown> {
  switch (verdict.kind) {
    case 'Provider': {
      const { endpoint, attachedRoutes, keys } = verdict;
      return { ...(endpoint === undefined ? {} : { endpoint }), attachedRoutes, keys };
    }
    case 'ModelRoute': {
      const { targets, conflictsWith } = verdict;
      return {
        ...countTargets(targets),
        targets: targets.map(({ upstream: _, ...target }) => target),
        ...(conflictsWith === undefined ? {} : { conflictsWith }),
      };
    }
    case 'ApiKey': {
      const { secretName, keyHint, versions, expiresAt } = verdict;
      return {
        ...(secretName === undefined ? {} : { secretName }),
        ...(keyHint === undefined ? {} : { keyHint }),
        versions: versions.map((version, index) => ({ ...version, id: version.id ?? index + 1 })),
        ...(expiresAt === undefined ? {} : { expiresAt }),
      };
    }
  }
}

/** Undefined: it was not so before. */
function transitionTime({ type, status }: Condition, before: unknown): string | undefined {
  const conditions = isRecord(before) && Array.isArray(before.conditions) ? before.conditions : [];
  const same = conditions.find((one: unknown) => isRecord(one) && one.type === type && one.status === status);
  return isRecord(same) && typeof same.lastTransitionTime === 'string' ? same.lastTransitionTime : undefined;
}
