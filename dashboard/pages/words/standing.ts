// How does an object stand, in plain words? Its conditions as a sentence each, and one word for all of it.

import type { CommonStatus, Condition, KubeObject } from './kube.ts';
import { WAYS_OUT } from './ways-out.ts';

export type Tone = 'good' | 'busy' | 'warn' | 'bad' | 'off';

export interface ConditionWords {
  readonly type: string;
  /** Such as `Reaches its upstream`: what the condition says, whichever way it is. */
  readonly title: string;
  readonly reason: string;
  readonly message: string;
  /** Undefined where nothing is to be done. */
  readonly wayOut: string | undefined;
  readonly tone: Tone;
  readonly since: string;
}

export interface Standing {
  readonly word: string;
  readonly tone: Tone;
  /** What is wrong or under way, in the words of the operator; undefined where all is well. */
  readonly message: string | undefined;
  readonly conditions: readonly ConditionWords[];
}

/** In the order in which one reads them; those of the second list are bad news where they are true. */
const titles: Readonly<Record<string, { yes: string; no: string; isBadNews?: true }>> = {
  Ready: { yes: 'Ready', no: 'Not ready' },
  Accepted: { yes: 'The object is right', no: 'The object is not right' },
  ResolvedRefs: { yes: 'Everything it names is there', no: 'Something it names is missing or not lent' },
  Issued: { yes: 'There is a key', no: 'There is no key yet' },
  Programmed: { yes: 'Every gateway pod serves it', no: 'Not every gateway pod serves it' },
  Healthy: { yes: 'The upstream answers', no: 'The upstream does not answer' },
  Translatable: { yes: 'Every dialect can be served', no: 'A dialect cannot be served' },
  Priced: { yes: 'Every target has a price', no: 'A target has no price' },
  Degraded: { yes: 'It works, but not all of it', no: 'Not degraded', isBadNews: true },
  Conflicted: { yes: 'Another object claims the same', no: 'No conflict', isBadNews: true },
  Stalled: { yes: 'Nothing changes until somebody acts', no: 'Not stalled', isBadNews: true },
  Reconciling: { yes: 'It is on its way', no: 'Not under way', isBadNews: true },
  Disabled: { yes: 'Switched off', no: 'Not switched off', isBadNews: true },
  Expired: { yes: 'Its end has come', no: 'Not expired', isBadNews: true },
  ExpiringSoon: { yes: 'It ends within a week', no: 'It does not end soon', isBadNews: true },
  BudgetExhausted: { yes: 'The budget is used up', no: 'The budget is not used up', isBadNews: true },
};
const order = Object.keys(titles);
/** Where a condition has more than two sides. */
const titlesOfReason: Readonly<Record<string, string>> = {
  PartiallyHealthy: 'The upstream answers some calls, and others fail',
};

const tonesOfTrue: Readonly<Record<string, Tone>> = {
  Degraded: 'warn',
  Conflicted: 'bad',
  Stalled: 'bad',
  Reconciling: 'busy',
  Disabled: 'off',
  Expired: 'bad',
  ExpiringSoon: 'warn',
  BudgetExhausted: 'bad',
};
const tonesOfReason: Readonly<Record<string, Tone>> = {
  Pending: 'busy',
  SecretPending: 'busy',
  Suspended: 'off',
  DisabledBySpec: 'off',
  NoTraffic: 'off',
  NotEvaluated: 'off',
  NotProgrammed: 'off',
  Lossy: 'warn',
  NoPrice: 'warn',
  PartiallyHealthy: 'warn',
};

export function conditionOf(object: { readonly status?: CommonStatus }, type: string): Condition | undefined {
  return object.status?.conditions?.find((condition) => condition.type === type);
}

/** Whether every gateway pod runs the object as it is now, and not as it was before an edit. */
export function isProgrammed(object: KubeObject): boolean {
  const programmed = conditionOf(object, 'Programmed');
  return (
    programmed?.status === 'True' && (programmed.observedGeneration ?? 0) >= (object.metadata.generation ?? 0)
  );
}

/** Of a key the list says the same in fewer words: `stateOf` of dashboard/rows/key-row.ts. */
export function standingOf(object: KubeObject): Standing {
  const conditions = (object.status?.conditions ?? [])
    .filter((condition, _, all) => !isEcho(condition, all))
    .map(wordsOf)
    .sort((a, b) => placeIn(order, a.type) - placeIn(order, b.type));
  const is = (type: string) => conditionOf(object, type)?.status === 'True';
  const messageOf = (type: string) => conditionOf(object, type)?.message;
  const standing = (word: string, tone: Tone, message?: string): Standing => ({
    word,
    tone,
    message,
    conditions,
  });

  const ready = conditionOf(object, 'Ready');
  const isJudged = ready !== undefined && !isBehind(object);
  if (isToBeOff(object)) {
    if (isJudged && isOut(object, ready)) return standing('Disabled', 'off');
    const why = isJudged ? ` Now: ${messageOf('Programmed') ?? ready.message}` : '';
    return standing(
      'Disabling',
      'warn',
      `Gateways may go on serving it until they have taken the last change.${why}`,
    );
  }
  if (!isJudged) return standing('Waiting', 'busy', 'The operator has not come to the last change yet.');
  if (is('Expired')) return standing('Expired', 'bad', messageOf('Expired'));
  if (ready.reason === 'Suspended') return standing('Suspended', 'off');
  if (is('Conflicted')) return standing('Conflict', 'bad', messageOf('Conflicted'));
  if (is('Stalled') && ready.status === 'True') return standing('Held', 'warn', messageOf('Stalled'));
  if (ready.status !== 'True')
    return is('Reconciling')
      ? standing('Pending', 'busy', ready.message)
      : standing('Not ready', 'bad', ready.message);
  if (is('BudgetExhausted')) return standing('Budget used up', 'bad', messageOf('BudgetExhausted'));
  const healthy = conditionOf(object, 'Healthy');
  const isPartly = healthy?.reason === 'PartiallyHealthy';
  if (healthy?.status === 'False' && !isPartly) return standing('Unhealthy', 'bad', healthy.message);
  if (is('Degraded')) return standing('Degraded', 'warn', messageOf('Degraded'));
  if (isPartly) return standing('Partly healthy', 'warn', healthy.message);
  if (is('ExpiringSoon')) return standing('Ends soon', 'warn', messageOf('ExpiringSoon'));
  return standing('Ready', 'good');
}

function isBehind({ metadata, status }: KubeObject): boolean {
  return (status?.observedGeneration ?? 0) < (metadata.generation ?? 0);
}

/** Of a key: somebody has switched it off, whether or not that has come to the gateways. */
function isToBeOff({ spec }: KubeObject): boolean {
  return 'disabled' in spec && spec.disabled === true;
}

/** Ready is said of what is disabled once every gateway has it so; what has a fault besides is in no table. */
function isOut(object: KubeObject, ready: Condition): boolean {
  return ready.status === 'True' || conditionOf(object, 'Programmed')?.reason === 'NotProgrammed';
}

/** Ready and those beside it have the reason of another condition, which says more of it. */
function isEcho({ type, status, reason }: Condition, all: readonly Condition[]): boolean {
  const isSummary = (name: string) => ['Ready', 'Stalled', 'Reconciling'].includes(name);
  if (!isSummary(type) || (type === 'Ready' && status === 'True')) return false;
  return all.some((other) => !isSummary(other.type) && other.reason === reason);
}

function wordsOf({ type, status, reason, message, lastTransitionTime }: Condition): ConditionWords {
  const { yes, no, isBadNews = false } = titles[type] ?? { yes: type, no: `Not ${type}` };
  const isTrue = status === 'True';
  const tone = isTrue
    ? isBadNews
      ? (tonesOfTrue[type] ?? 'bad')
      : (tonesOfReason[reason] ?? 'good')
    : isBadNews
      ? 'good'
      : (tonesOfReason[reason] ?? (status === 'Unknown' ? 'off' : 'bad'));
  return {
    type,
    title:
      titlesOfReason[reason] ??
      (status === 'Unknown'
        ? `Not known yet: ${yes.charAt(0).toLowerCase()}${yes.slice(1)}`
        : isTrue
          ? yes
          : no),
    reason,
    message,
    wayOut: tone === 'good' ? undefined : WAYS_OUT[reason],
    tone,
    since: lastTransitionTime,
  };
}

function placeIn(list: readonly string[], word: string): number {
  const at = list.indexOf(word);
  return at === -1 ? list.length : at;
}
