// What is the status of an object in local mode? The verdict of the compile, and whether the gateway in this process has it.

import { isRecord } from '../../core/kube/object.ts';
import { timeOf } from '../../core/kube/time.ts';
import { countTargets } from '../../operator/compile/count-targets.ts';
import { faultOf, readyCondition, wishOf } from '../../operator/compile/ready.ts';
import type { Condition, ModelRouteVerdict, Verdict } from '../../operator/compile/verdict.ts';
import { modelRouteStatusSchema } from '../../operator/resources/model-route.ts';
import { healthCondition } from '../../operator/status/health-condition.ts';
import type { ProviderHealth } from '../../operator/status/health-of.ts';
import { describeTrouble, type TargetTrouble } from '../../operator/status/settle-targets.ts';
import { stateOf } from '../../operator/status/state-of.ts';
import { formatRemark, type Remark } from '../manifests.ts';
import { troublesHere } from './health.ts';
import type { SpendStatus } from './spend-status.ts';

export interface StatusFacts {
  readonly verdict: Verdict;
  /** The gateway has applied this form of the object, or has left it out. */
  readonly isInUse: boolean;
  /** Of the table in use. */
  readonly tableGeneration: number;
  /** Why the manifests were not taken, where they were not. */
  readonly problems: readonly Remark[];
  /** Of a Provider: what the gateway has learnt of it; undefined before its first word. */
  readonly health: ProviderHealth | undefined;
  /** Of a ModelRoute: what is wrong with the calls of its targets, by name. */
  readonly troubles: ReadonlyMap<string, TargetTrouble>;
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
  const details = detailsOf(facts, before, nowMs);
  const targets = 'targets' in details ? details.targets : undefined;
  return {
    ...(verdict.generation === undefined ? {} : { observedGeneration: verdict.generation }),
    state: stateOf({ conditions, isHeld: false, targets }),
    ...details,
    ...(facts.spend?.usage === undefined ? {} : { usage: facts.spend.usage }),
    conditions: conditions.map((condition) => ({
      ...condition,
      ...(verdict.generation === undefined ? {} : { observedGeneration: verdict.generation }),
      lastTransitionTime: transitionTime(condition, before) ?? timeOf(nowMs),
    })),
  };
}

function healthOf({ verdict, health }: StatusFacts): readonly Condition[] {
  if (verdict.kind !== 'Provider' || !verdict.isInTable) return [];
  return [healthCondition(health?.reason ?? 'NoTraffic', health?.message)];
}

/** Nothing while it was not called lately. */
function podsOf({ verdict, health }: StatusFacts, before: unknown, nowMs: number) {
  if (health === undefined || health.totalPods === 0) return {};
  const { healthyPods, totalPods } = health;
  const troubles = verdict.isInTable ? troublesHere(health.troubles, before, nowMs) : undefined;
  return { health: { healthyPods, totalPods, ...(troubles === undefined ? {} : { troubles }) } };
}

function targetsOf(
  { targets, namespace }: ModelRouteVerdict,
  troubles: StatusFacts['troubles'],
  before: unknown,
  nowMs: number,
) {
  const earlier = modelRouteStatusSchema.safeParse(before).data?.targets ?? [];
  return targets.map(({ upstream, ...target }) => {
    const trouble = troubles.get(target.name);
    const word = {
      ...target,
      ...(trouble && upstream ? describeTrouble(trouble, upstream, namespace) : {}),
    };
    const same = earlier.find(({ name }) => name === target.name);
    // Another cause of the same trouble is no turn.
    const isTurn =
      same !== undefined &&
      (same.state !== word.state || (same.message === undefined) !== (word.message === undefined));
    const at = isTurn || (same === undefined && trouble) ? timeOf(nowMs) : same?.lastTransitionTime;
    return { ...word, ...(at === undefined ? {} : { lastTransitionTime: at }) };
  });
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

function detailsOf(facts: StatusFacts, before: unknown, nowMs: number) {
  const { verdict } = facts;
  switch (verdict.kind) {
    case 'Provider': {
      const { endpoint, attachedRoutes, keys } = verdict;
      return {
        ...(endpoint === undefined ? {} : { endpoint }),
        attachedRoutes,
        keys: keys.map((key) => ({
          ...key,
          ...(key.state === 'Active' ? facts.health?.keys.get(key.name) : undefined),
        })),
        ...podsOf(facts, before, nowMs),
      };
    }
    case 'ModelRoute': {
      const { conflictsWith } = verdict;
      const targets = targetsOf(verdict, facts.troubles, before, nowMs);
      return {
        ...countTargets(targets),
        targets,
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
