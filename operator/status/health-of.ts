// Does an upstream answer? What the gateway pods learnt from their calls, as one word per Provider and per key.

import type { TargetCalls, UpstreamHealth } from '../../core/contract/exchange.ts';
import { failingModels, type PodWord, podWordOf, wordOfKeys } from '../../core/contract/pod-word.ts';
import { timeOf } from '../../core/kube/time.ts';
import type { KeyState, ProviderVerdict } from '../compile/verdict.ts';
import type { PodAnswers } from '../pods/pods-state.ts';
import type { GatewayPod } from '../watch/gateway-pods.ts';
import { failureWords } from './failure-words.ts';
import { type PodView, type Trouble, troublesOf } from './troubles.ts';

export interface ProviderHealth {
  readonly reason:
    | 'Healthy'
    | 'PartiallyHealthy'
    | 'Unhealthy'
    | 'AuthenticationFailed'
    | 'CredentialExhausted'
    | 'NoTraffic';
  /** Pods that find it working, of those that sent calls to it lately. */
  readonly healthyPods: number;
  readonly totalPods: number;
  /** Models that no pod with recent calls to the Provider can reach; `*`: all models. */
  readonly failing: '*' | ReadonlySet<string>;
  /** Results of recent calls, by model, over all pods. */
  readonly calls: ReadonlyMap<string, ModelCalls>;
  /** Models that the upstream reported as unknown to any pod in the last ten minutes. */
  readonly unknownModels: ReadonlySet<string>;
  /** Keys that no pod can use now, though nothing is wrong with their Secrets. */
  readonly keys: ReadonlyMap<string, KeyTrouble>;
  /** Keys with which some pod was answered lately. */
  readonly answeredKeys: ReadonlySet<string>;
  /** What some pod does not use now. */
  readonly troubles: readonly Trouble[];
  /** Where the reason's own sentence does not say it all. */
  readonly message?: string;
  /** Error of the operator's own last check, while it fails; without secrets. */
  readonly lastError?: string;
}

/** Calls of the last minutes. */
export type ModelCalls = Pick<TargetCalls, 'state' | 'calls' | 'failed' | 'cause' | 'sinceMs'>;

export interface KeyTrouble {
  readonly state: Extract<KeyState, 'RateLimited' | 'Exhausted' | 'Invalid'>;
  readonly message: string;
}

/** Undefined: not every ready pod was heard yet, so that nothing can be said. */
export type HealthOf = (verdict: ProviderVerdict) => ProviderHealth | undefined;

/** Sorts the answers of all pods by Provider, once for many questions. */
export function indexHealth(pods: readonly GatewayPod[], answers: PodAnswers): HealthOf {
  const heard = pods.map(({ uid, name }) => ({ pod: name, answer: answers.get(uid) }));
  if (heard.length === 0 || heard.some(({ answer }) => answer === undefined)) return () => undefined;
  const byProvider = new Map<string, PodView[]>();
  const unknownModels = new Map<string, Set<string>>();
  for (const { pod, answer } of heard) {
    // The last answer of a silent pod may be out of date.
    if (answer?.response === undefined || answer.failure !== undefined) continue;
    const { health, targets = [], misconfigured = [] } = answer.response;
    const entriesOf = Map.groupBy(health, ({ provider }) => provider);
    const callsOf = Map.groupBy(targets, ({ provider }) => provider);
    for (const provider of new Set([...entriesOf.keys(), ...callsOf.keys()])) {
      const views = byProvider.get(provider) ?? [];
      views.push({ pod, entries: entriesOf.get(provider) ?? [], calls: callsOf.get(provider) ?? [] });
      byProvider.set(provider, views);
    }
    for (const { provider, upstreamModel } of misconfigured) {
      unknownModels.set(provider, (unknownModels.get(provider) ?? new Set()).add(upstreamModel));
    }
  }
  return (verdict) => {
    const id = `${verdict.namespace}/${verdict.name}`;
    return healthOf(verdict, byProvider.get(id) ?? [], unknownModels.get(id) ?? new Set());
  };
}

/** @param podViews what each pod that has something to say says. */
function healthOf(
  verdict: ProviderVerdict,
  podViews: readonly PodView[],
  unknownModels: ReadonlySet<string>,
): ProviderHealth {
  const views = podViews.map(({ entries }) => entries);
  const usedKeys = verdict.keys.filter(({ state }) => state === 'Active').map(({ name }) => name);
  const words = podViews.map(({ entries, calls }) => podWordOf(entries, usedKeys, calls));
  const working = words.filter((word) => word === 'working').length;
  const keys = new Map<string, KeyTrouble>();
  for (const name of usedKeys) {
    const trouble = keyTrouble(views.flatMap((entries) => entries.filter(({ key }) => key === name)));
    if (trouble !== undefined) keys.set(name, trouble);
  }
  const answeredKeys = new Set(
    views.flatMap((entries) => entries.flatMap(({ key, state }) => (state === 'working' ? (key ?? []) : []))),
  );
  const reason = reasonOf(words, working);
  const calls = callsByModel(podViews.flatMap((view) => view.calls));
  const message =
    reason === 'Unhealthy'
      ? describeFailing(views.flat(), calls)
      : reason === 'PartiallyHealthy'
        ? describePartly(calls)
        : undefined;
  return {
    reason,
    ...(message === undefined ? {} : { message }),
    healthyPods: working,
    totalPods: words.length,
    failing: failingOf(podViews, usedKeys, calls),
    calls,
    unknownModels,
    keys,
    answeredKeys,
    troubles: troublesOf(podViews, usedKeys),
  };
}

/** Each model with the calls of all pods: it fails where it fails for each that called it. */
function callsByModel(lines: readonly TargetCalls[]): ReadonlyMap<string, ModelCalls> {
  const byModel = Map.groupBy(lines, ({ upstreamModel }) => upstreamModel);
  return new Map(
    [...byModel].map(([model, ofPods]): [string, ModelCalls] => {
      const sum = (of: 'calls' | 'failed') => ofPods.reduce((total, line) => total + line[of], 0);
      const state = ofPods.every((line) => line.state === 'failing')
        ? 'failing'
        : ofPods.some((line) => line.state !== 'answering')
          ? 'partly'
          : 'answering';
      const [last] = ofPods
        .filter((line) => line.cause !== undefined)
        .sort((a, b) => (b.sinceMs ?? 0) - (a.sinceMs ?? 0));
      return [
        model,
        {
          ...{ state, calls: sum('calls'), failed: sum('failed') },
          ...(last?.cause === undefined ? {} : { cause: last.cause }),
          ...(last === undefined ? {} : { sinceMs: failingSinceMs(ofPods) }),
        },
      ];
    }),
  );
}

/** A pod that reports a breaker of a Provider, but none of a model there, does not count against that model. */
function failingOf(
  views: readonly PodView[],
  usedKeys: readonly string[],
  calls: ReadonlyMap<string, ModelCalls>,
): ProviderHealth['failing'] {
  const [first, ...rest] = views
    .map(({ entries, calls: lines }) =>
      wordOfKeys(entries, usedKeys) === undefined ? failingModels(entries, lines) : '*',
    )
    .filter((one) => one !== '*');
  if (first === undefined) return views.length === 0 ? new Set() : '*';
  const failing = [...calls].flatMap(([model, { state }]) => (state === 'failing' ? [model] : []));
  return rest.reduce((common, models) => common.intersection(models), first).union(new Set(failing));
}

function reasonOf(words: readonly PodWord[], working: number): ProviderHealth['reason'] {
  if (words.length === 0) return 'NoTraffic';
  if (working === words.length) return 'Healthy';
  if (working > 0 || words.includes('partly')) return 'PartiallyHealthy';
  if (words.includes('failing')) return 'Unhealthy';
  return words.includes('exhausted') ? 'CredentialExhausted' : 'AuthenticationFailed';
}

/** The same in whichever order the pods are heard, and however many calls were made since. */
function describeFailing(
  entries: readonly UpstreamHealth[],
  calls: ReadonlyMap<string, ModelCalls>,
): string | undefined {
  const failing = [...calls.values()].filter(({ state }) => state === 'failing');
  const open = entries.filter(({ state, cause }) => state === 'open' && cause !== undefined);
  const ofAddress = open.filter(({ upstreamModel }) => upstreamModel === undefined);
  const causes = [ofAddress, failing, open].find((some) => some.length > 0) ?? [];
  const [cause] = causes.flatMap((one) => one.cause ?? []).sort();
  if (cause === undefined) return undefined;
  const { fact, action } = failureWords(cause);
  return `${failsSince(failingSinceMs(failing))}: ${fact}; ${action}`;
}

/** The first failure since the last success: models or pods that were not called before do not move it. 0: not known. */
function failingSinceMs(failing: readonly Pick<ModelCalls, 'calls' | 'failed' | 'sinceMs'>[]): number {
  const startsOf = (some: typeof failing) =>
    some.flatMap(({ sinceMs = 0 }) => (sinceMs > 0 ? [sinceMs] : []));
  const afterSuccess = startsOf(failing.filter(({ calls, failed }) => failed < calls));
  if (afterSuccess.length > 0) return Math.max(...afterSuccess);
  const starts = startsOf(failing);
  return starts.length === 0 ? 0 : Math.min(...starts);
}

function describePartly(calls: ReadonlyMap<string, ModelCalls>): string | undefined {
  const inTrouble = [...calls].filter(([, { state }]) => state !== 'answering');
  const [worst] = inTrouble.sort(
    ([a, { state: stateA }], [b, { state: stateB }]) =>
      Number(stateA === 'partly') - Number(stateB === 'partly') || (a < b ? -1 : 1),
  );
  if (worst === undefined) return undefined;
  const [model, { state, cause, sinceMs }] = worst;
  const { fact, action } = failureWords(cause);
  const others = inTrouble.length - 1;
  const more = others === 0 ? '' : others === 1 ? ' and 1 more model' : ` and ${others} more models`;
  const fails = state === 'failing' ? failsSince(sinceMs ?? 0) : 'some calls fail';
  return `model ${model}${more}: ${fails}: ${fact}; ${action}`;
}

/** True until one is answered, so that a status with it stays true. */
export function failsSince(sinceMs: number): string {
  return sinceMs === 0 ? 'every call fails' : `every call has failed since ${timeOf(sinceMs)}`;
}

/** A key has trouble where every pod that used it says so: then it is the key's, not the pod's. */
function keyTrouble(entries: readonly UpstreamHealth[]): KeyTrouble | undefined {
  const states = new Set(entries.map(({ state }) => state));
  if (states.size === 0 || states.has('working') || states.has('open')) return undefined;
  if (states.has('rejected')) {
    const message = 'the upstream rejects this key; put a valid key into its Secret';
    return { state: 'Invalid', message };
  }
  if (states.has('out-of-money')) {
    const message = 'the account of this key is out of credit; top it up, or use another key';
    return { state: 'Exhausted', message };
  }
  return {
    state: 'RateLimited',
    message: 'in cooldown after a rate limit of the upstream; ends automatically',
  };
}
