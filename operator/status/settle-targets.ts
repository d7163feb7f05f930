// Which targets of a route are in use, and is that worth a write? What the compile says, at once; what calls say, at most once
// a minute, because breakers come and go by the second.

import { timeOf } from '../../core/kube/time.ts';
import type { ModelRouteVerdict } from '../compile/verdict.ts';
import type { ModelRouteStatus } from '../resources/model-route.ts';
import { failureWords } from './failure-words.ts';
import { failsSince, type ModelCalls } from './health-of.ts';
import type { ObjectStatus } from './object-status.ts';

type TargetStatus = NonNullable<ModelRouteStatus['targets']>[number];

export interface SettledTargets {
  readonly targets: readonly TargetStatus[];
  /** When the result changes with time alone. */
  readonly againMs?: number;
}

/** What is wrong with the calls of a target. */
export interface TargetTrouble {
  /** `partly`: some of its calls fail. Else none is answered: its keys are out of money, or the upstream does not know its model. */
  readonly kind: 'failing' | 'partly' | 'exhausted' | 'misconfigured';
  /** Absent where only breakers say so. */
  readonly calls?: ModelCalls;
}

const gapMs = 60_000;

/**
 * @param failing targets with a trouble, by name; undefined until every pod has answered: then the present status is kept.
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
  // After an edit, what was found before is old.
  const isOfThisSpec = before.observedGeneration === verdict.generation;
  let againMs: number | undefined;
  const targets = verdict.targets.map(({ upstream, ...target }): TargetStatus => {
    if (upstream === undefined) return target;
    const earlier = before.targets?.find(({ name }) => name === target.name);
    // Not in use before: that it works is no news of the traffic.
    const wasUsed = earlier?.state === 'Unhealthy' || earlier?.state === 'Ready';
    const kept = { ...target, ...(wasUsed ? wordOf(earlier) : {}), ...since(earlier?.lastTransitionTime) };
    if (failing === undefined && wasUsed) return kept;
    const trouble = failing?.get(target.name);
    const fresh = trouble === undefined ? {} : describeTrouble(trouble, upstream, verdict.namespace);
    if (!wasUsed) return { ...target, ...fresh, ...(trouble === undefined ? {} : since(timeOf(nowMs))) };
    if (isSameTrouble(trouble, wordOf(earlier), fresh)) return kept;
    if (isOfThisSpec && nowMs < lastMs + gapMs) {
      againMs = lastMs + gapMs;
      return kept;
    }
    return { ...target, ...fresh, ...since(timeOf(nowMs)) };
  });
  return { targets, ...(againMs === undefined ? {} : { againMs }) };
}

type Word = Partial<Pick<TargetStatus, 'state' | 'message'>>;

/** What the calls of a target say of it. */
export function describeTrouble(
  { kind, calls }: TargetTrouble,
  { provider, model }: { readonly provider: string; readonly model: string },
  namespace: string,
): Word {
  const { fact } = failureWords(calls?.cause);
  const why = calls?.cause === undefined ? '' : `: ${fact}`;
  const where = provider.startsWith(`${namespace}/`)
    ? `see the condition Healthy of Provider ${provider}`
    : `ask the owner of Provider ${provider}`;
  switch (kind) {
    case 'misconfigured':
      return unhealthy(
        `TargetMisconfigured: the upstream does not know the model "${model}"; correct upstreamModel`,
      );
    case 'exhausted':
      return unhealthy(`CredentialExhausted: its keys are out of credit; ${where}`);
    case 'failing':
      return unhealthy(`${failsSince(calls?.sinceMs ?? 0)}${why}; ${where}`);
    case 'partly':
      return { message: `some calls fail${why}; ${where}` };
  }
}

function unhealthy(message: string): Word {
  return { state: 'Unhealthy', message };
}

function wordOf({ state, message }: TargetStatus): Word {
  return {
    ...(state === 'Unhealthy' ? { state } : {}),
    ...(message === undefined ? {} : { message }),
  };
}

/** Pods differ in when their first call failed; that alone is no news. */
function isSameTrouble(trouble: TargetTrouble | undefined, before: Word, now: Word): boolean {
  const withoutTime = ({ message = '' }: Word) => message.replace(/ since \S+Z/, '');
  return (
    before.state === now.state && withoutTime(before) === (trouble === undefined ? '' : withoutTime(now))
  );
}

function since(lastTransitionTime: string | undefined): Pick<TargetStatus, 'lastTransitionTime'> {
  return lastTransitionTime === undefined ? {} : { lastTransitionTime };
}
