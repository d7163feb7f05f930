// Which targets of a route are in use, and is that worth a write? What the compile says, at once; what calls say, at most once
// a minute, because breakers come and go by the second.

import { timeOf } from '../../core/kube/time.ts';
import type { ModelRouteVerdict } from '../compile/verdict.ts';
import type { ModelRouteStatus } from '../resources/model-route.ts';
import type { ObjectStatus } from './object-status.ts';

type TargetStatus = NonNullable<ModelRouteStatus['targets']>[number];

export interface SettledTargets {
  readonly targets: readonly TargetStatus[];
  /** It will say something else then. */
  readonly againMs?: number;
}

/** Why no gateway pod gets an answer at a target: its calls fail, its keys are out of money, or the upstream does not know its model. */
export type TargetTrouble = 'failing' | 'exhausted' | 'misconfigured';

const gapMs = 60_000;

/**
 * @param failing names of targets that answer no gateway pod; undefined until every pod has answered: then the present status is kept.
 */
export function settleTargets(
  verdict: ModelRouteVerdict,
  failing: ReadonlyMap<string, TargetTrouble> | undefined,
  present: ObjectStatus | undefined,
  nowMs: number,
): SettledTargets {
  const before: ModelRouteStatus = present ?? {};
  const lastMs = Math.max(
    0,
    ...(before.targets ?? []).map((one) => Date.parse(one.lastTransitionTime ?? '') || 0),
  );
  let againMs: number | undefined;
  const targets = verdict.targets.map(({ upstream, ...target }): TargetStatus => {
    if (upstream === undefined) return target;
    const earlier = before.targets?.find(({ name }) => name === target.name);
    const wasFailing = earlier?.state === 'Unhealthy';
    const wasWorking = earlier?.state === 'Ready';
    const since = earlier?.lastTransitionTime;
    const isFailing = failing?.has(target.name) ?? wasFailing;
    const say = (fails: boolean, lastTransitionTime: string | undefined): TargetStatus => ({
      ...target,
      ...(fails ? { state: 'Unhealthy', message: messageOf(failing?.get(target.name)) } : {}),
      ...(lastTransitionTime === undefined ? {} : { lastTransitionTime }),
    });
    function messageOf(trouble: TargetTrouble | undefined): string {
      if (trouble === undefined && earlier?.message !== undefined && wasFailing) return earlier.message;
      if (trouble === 'misconfigured') return isUnknown(upstream?.model ?? '');
      const fact =
        trouble === 'exhausted' ? 'CredentialExhausted: its keys are out of money' : 'calls to it fail';
      return `${fact}; ${whereToLook(verdict.namespace, upstream?.provider ?? '')}`;
    }
    // Not in use before: that it works is no news of the traffic.
    if (!wasFailing && !wasWorking) return say(isFailing, isFailing ? timeOf(nowMs) : undefined);
    if (isFailing === wasFailing) return say(isFailing, since);
    if (nowMs < lastMs + gapMs) {
      againMs = lastMs + gapMs;
      return say(wasFailing, since);
    }
    return say(isFailing, timeOf(nowMs));
  });
  return { targets, ...(againMs === undefined ? {} : { againMs }) };
}

function isUnknown(model: string): string {
  return `TargetMisconfigured: the upstream does not know the model "${model}"; correct upstreamModel`;
}

function whereToLook(namespace: string, provider: string): string {
  return provider.startsWith(`${namespace}/`)
    ? `see the condition Healthy of Provider ${provider}`
    : `ask the owner of Provider ${provider}`;
}
