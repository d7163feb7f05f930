// What is the status of an object, in plain words? A label for each condition, and one word for the whole.

import { CONDITIONS, REASONS, type Tone } from './conditions.ts';
import type { CommonStatus, Condition, KubeObject, ModelRoute } from './kube.ts';

export interface ConditionWords {
  readonly type: string;
  /** Such as `Upstream healthy`: what the condition says, true or false. */
  readonly title: string;
  readonly reason: string;
  readonly message: string;
  /** What to do; undefined: nothing. */
  readonly wayOut: string | undefined;
  readonly tone: Tone;
  /** Empty: not known. */
  readonly since: string;
}

export interface ObjectStatus {
  readonly word: string;
  readonly tone: Tone;
  /** The fault or the progress, in the words of the operator; undefined: nothing. */
  readonly message: string | undefined;
  /** Of a route whose targets fail; else its conditions say it. */
  readonly since?: string | undefined;
  readonly conditions: readonly ConditionWords[];
}

const order = Object.keys(CONDITIONS);

function conditionOf(object: { readonly status?: CommonStatus }, type: string): Condition | undefined {
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
export function statusOf(object: KubeObject): ObjectStatus {
  const isStopped = isToBeOff(object) || stops.some((type) => conditionOf(object, type)?.status === 'True');
  const isOff = isStopped || conditionOf(object, 'Ready')?.reason === 'Suspended';
  const conditions = (object.status?.conditions ?? [])
    .filter((condition, _, all) => !isEcho(condition, all) && !(isOff && contradicts(condition)))
    .map((condition) => wordsOf(condition, isOff))
    .map((words) => (words.reason === 'NoPrice' && isOwn(object) ? { ...words, ...noPriceNeeded } : words))
    .sort((a, b) => placeIn(order, a.type) - placeIn(order, b.type));
  const is = (type: string) => conditionOf(object, type)?.status === 'True';
  const messageOf = (type: string) => conditionOf(object, type)?.message;
  const status = (word: string, tone: Tone, message?: string): ObjectStatus => ({
    word,
    tone,
    message,
    // Ready of an object whose calls fail is right for tools that wait, and no news for people.
    conditions: word === 'Ready' ? conditions : conditions.filter((one) => !isPlainReady(one)),
  });

  const statusOfTarget = (word: string, tone: Tone, target: TargetStatus): ObjectStatus => {
    const { name, message, lastTransitionTime: since } = target;
    const said = message === undefined ? name : `${name}: ${message}`;
    const of = status(word, tone, said);
    const title = word === 'Failing' ? 'No target answers' : 'Some calls fail';
    const words = { type: 'Targets', title, reason: 'Targets', message: said, wayOut: undefined, tone };
    return { ...of, since, conditions: [{ ...words, since: since ?? '' }, ...of.conditions] };
  };

  const ready = conditionOf(object, 'Ready');
  const isJudged = ready !== undefined && !isBehind(object);
  if (isToBeOff(object)) {
    if (isJudged && isOut(object, ready)) return status('Disabled', 'off');
    const why = isJudged ? ` Now: ${messageOf('Programmed') ?? ready.message}` : '';
    return status('Disabling', 'warn', `Gateways may accept it until they apply the last change.${why}`);
  }
  if (!isJudged) return status('Waiting', 'busy', 'The operator has not processed the last change yet.');
  if (is('Expired')) return status('Expired', 'bad', messageOf('Expired'));
  if (ready.reason === 'Suspended') return status('Suspended', 'off');
  if (is('Conflicted'))
    return status('Conflict', ready.status === 'True' ? 'warn' : 'bad', messageOf('Conflicted'));
  if (is('Stalled') && ready.status === 'True') return status('Held', 'warn', messageOf('Stalled'));
  if (ready.status !== 'True')
    return is('Reconciling')
      ? status('Pending', 'busy', ready.message)
      : status('Not ready', 'bad', ready.message);
  if (is('BudgetExhausted')) return status('Budget used up', 'bad', messageOf('BudgetExhausted'));
  const healthy = conditionOf(object, 'Healthy');
  const isPartly = healthy?.reason === 'PartiallyHealthy';
  if (healthy?.status === 'False' && !isPartly) return status('Failing', 'bad', healthy.message);
  const targets = targetsOf(object);
  const [failing] = targets.filter(({ state }) => state === 'Unhealthy');
  if (failing && targets.every(({ state }) => state === 'Unhealthy'))
    return statusOfTarget('Failing', 'bad', failing);
  if (is('Degraded')) return status('Degraded', 'warn', messageOf('Degraded'));
  if (isPartly) return status('Degraded', 'warn', healthy.message);
  const troubled = failing ?? targets.find(({ message }) => message);
  if (troubled) return statusOfTarget('Degraded', 'warn', troubled);
  if (is('ExpiringSoon')) return status('Expires soon', 'warn', messageOf('ExpiringSoon'));
  return status('Ready', 'good');
}

const noPriceNeeded = {
  title: 'No price needed',
  tone: 'off',
  wayOut: 'Calls with your own Provider cost nothing here.',
} as const;

/** A ModelRoute that uses Providers of its own namespace and serves only keys of that namespace. */
function isOwn({ metadata, spec }: KubeObject): boolean {
  const { targets, allowedNamespaces } = spec as Partial<ModelRoute['spec']>;
  const isHere = ({ namespace = metadata.namespace }: { readonly namespace?: string }) =>
    namespace === metadata.namespace;
  return (
    (allowedNamespaces?.from ?? 'Same') === 'Same' &&
    targets?.every(({ providerRef }) => isHere(providerRef)) === true
  );
}

type TargetStatus = NonNullable<NonNullable<ModelRoute['status']>['targets']>[number];

/** Of a ModelRoute: the targets in use. In state Ready, a message says that some calls fail. */
function targetsOf(object: KubeObject): readonly TargetStatus[] {
  const { targets = [] } = (object as ModelRoute).status ?? {};
  return targets.filter(({ state }) => state === 'Ready' || state === 'Unhealthy');
}

const stops = ['Disabled', 'Expired'];

/** Ready of what is out of service means that every gateway has it so. */
function contradicts({ type, status }: Condition): boolean {
  return type === 'Ready' && status === 'True';
}

function isBehind({ metadata, status }: KubeObject): boolean {
  return (status?.observedGeneration ?? 0) < (metadata.generation ?? 0);
}

/** An ApiKey that is disabled, whether or not gateways have applied it. */
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

function wordsOf(
  { type, status, reason, message, lastTransitionTime }: Condition,
  isOff: boolean,
): ConditionWords {
  const { yes, no, badTone } = CONDITIONS[type] ?? { yes: type, no: `Not ${type}` };
  const of = REASONS[reason] ?? {};
  const isTrue = status === 'True';
  const tone = isTrue
    ? (badTone ?? of.tone ?? 'good')
    : badTone === undefined
      ? (of.tone ?? (status === 'Unknown' ? 'off' : 'bad'))
      : 'good';
  return {
    type,
    title:
      isOff && type === 'Programmed' && isTrue
        ? 'Applied by every gateway'
        : (of.title ?? (status === 'Unknown' ? `${yes}: not known yet` : isTrue ? yes : no)),
    reason,
    message,
    wayOut: tone === 'good' ? undefined : of.wayOut,
    tone,
    // Accepted is true before and after: its time is not that of the suspension.
    since: reason === 'Suspended' ? '' : lastTransitionTime,
  };
}

function placeIn(list: readonly string[], word: string): number {
  const at = list.indexOf(word);
  return at === -1 ? list.length : at;
}

function isPlainReady({ type, tone }: ConditionWords): boolean {
  return type === 'Ready' && tone === 'good';
}
