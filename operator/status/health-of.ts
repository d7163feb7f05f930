// Does an upstream answer? What the gateway pods learnt from their calls, as one word per Provider and per key.

import type { Unanswered, UpstreamHealth } from '../../core/contract/exchange.ts';
import { type PodWord, podWordOf, wordOfKeys } from '../../core/contract/pod-word.ts';
import type { KeyState, ProviderVerdict } from '../compile/verdict.ts';
import type { PodAnswers } from '../pods/pods-state.ts';
import type { GatewayPod } from '../watch/gateway-pods.ts';
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
  /** What the operator's own check met last, as long as it fails; without secrets. */
  readonly lastError?: string;
}

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
  const unanswered = new Map<string, (readonly Unanswered[])[]>();
  for (const { pod, answer } of heard) {
    // What a pod said before it fell silent may be long over.
    if (answer?.response === undefined || answer.failure !== undefined) continue;
    for (const [provider, entries] of Map.groupBy(answer.response.health, (entry) => entry.provider)) {
      const views = byProvider.get(provider) ?? [];
      views.push({ pod, entries });
      byProvider.set(provider, views);
    }
    for (const [provider, calls] of Map.groupBy(answer.response.unanswered ?? [], (one) => one.provider))
      unanswered.set(provider, [...(unanswered.get(provider) ?? []), calls]);
    for (const { provider, upstreamModel } of answer.response.misconfigured ?? []) {
      unknownModels.set(provider, (unknownModels.get(provider) ?? new Set()).add(upstreamModel));
    }
  }
  return (verdict) => {
    const id = `${verdict.namespace}/${verdict.name}`;
    const views = byProvider.get(id);
    if (views === undefined && verdict.isInTable) {
      const failed = unanswered.get(id);
      if (failed !== undefined)
        return { ...healthOf(verdict, [], unknownModels.get(id) ?? new Set()), ...describeFailed(failed) };
    }
    return healthOf(verdict, views ?? [], unknownModels.get(id) ?? new Set());
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
  const words = views.map((entries) => podWordOf(entries, usedKeys));
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
  const message = reason === 'Unhealthy' ? describeCause(views.flat()) : undefined;
  return {
    reason,
    ...(message === undefined ? {} : { message }),
    healthyPods: working,
    totalPods: words.length,
    failing: failingOf(views, usedKeys),
    unknownModels,
    keys,
    answeredKeys,
    troubles: troublesOf(podViews, usedKeys),
  };
}

/** A pod that speaks of a Provider and not of a model there has nothing to say against that model. */
function failingOf(
  views: readonly (readonly UpstreamHealth[])[],
  usedKeys: readonly string[],
): ProviderHealth['failing'] {
  const [first, ...rest] = views.map((entries) => failingFor(entries, usedKeys)).filter((one) => one !== '*');
  if (first === undefined) return views.length === 0 ? new Set() : '*';
  return rest.reduce((common, models) => common.intersection(models), first);
}

function failingFor(
  entries: readonly UpstreamHealth[],
  usedKeys: readonly string[],
): '*' | ReadonlySet<string> {
  if (wordOfKeys(entries, usedKeys) !== undefined) return '*';
  const open = entries.filter(({ state, key }) => state === 'open' && key === undefined);
  if (open.some(({ upstreamModel }) => upstreamModel === undefined)) return '*';
  return new Set(open.flatMap(({ upstreamModel }) => upstreamModel ?? []));
}

function reasonOf(words: readonly PodWord[], working: number): ProviderHealth['reason'] {
  if (words.length === 0) return 'NoTraffic';
  if (working === words.length) return 'Healthy';
  if (working > 0 || words.includes('partly')) return 'PartiallyHealthy';
  if (words.includes('failing')) return 'Unhealthy';
  return words.includes('exhausted') ? 'CredentialExhausted' : 'AuthenticationFailed';
}

/** No pod was ever answered, and none has failed often enough to pass the upstream over. @param failed by pod. */
function describeFailed(
  failed: readonly (readonly Unanswered[])[],
): Pick<ProviderHealth, 'reason' | 'totalPods' | 'message'> {
  const all = failed.flat();
  const calls = all.reduce((sum, one) => sum + one.calls, 0);
  const [cause] = all.flatMap((one) => one.cause ?? []).sort();
  const why = cause === undefined ? '' : `: ${wordsFor(cause)}`;
  const message = `${calls} of ${calls} calls failed in 10 minutes${why}`;
  return { reason: 'Unhealthy', totalPods: failed.length, message };
}

/** Of a breaker of the whole address rather than of one model; the same in whichever order the pods are heard. */
function describeCause(entries: readonly UpstreamHealth[]): string | undefined {
  const open = entries.filter(({ state, cause }) => state === 'open' && cause !== undefined);
  const ofAddress = open.filter(({ upstreamModel }) => upstreamModel === undefined);
  const [cause] = (ofAddress.length > 0 ? ofAddress : open).flatMap((entry) => entry.cause ?? []).sort();
  return cause === undefined ? undefined : `calls to the upstream fail: ${wordsFor(cause)}`;
}

const CAUSES: Readonly<Record<string, string>> = {
  tls_failed:
    'TLSFailed, no TLS connection comes about; see its certificate, and caRef and serverName of spec.tls',
  dns_failed: 'its name cannot be resolved; see the host of spec.baseURL',
  connect_refused:
    'it refuses connections; see whether host and port of spec.baseURL are right, and whether the server runs',
  connect_timeout:
    'no connection in time; see whether host and port of spec.baseURL are right and can be reached from the gateway pods',
  connect_failed:
    'no connection; see whether host and port of spec.baseURL are right and can be reached from the gateway pods',
  proxy_failed: 'the proxy opens no tunnel; see spec.proxy',
  egress_denied:
    'its address is one that gateways may not connect to; ask the platform team to add it to spec.egress.allow of a TenantPolicy',
  bad_head:
    'what it answers with is no HTTP, or its headers are longer than 16 KiB; see what serves the address in spec.baseURL',
  reset: 'it breaks connections off; see whether its service is up',
  timeout_first_event: 'it begins no answer in time; see spec.timeouts, and whether its service is up',
  truncated: 'its streams break off',
  timeout_liveness: 'its streams fall silent',
  timeout_progress: 'its streams bring no content any more',
};

function wordsFor(cause: string): string {
  const status = /^status_([1-5](?:\d\d|xx))$/.exec(cause)?.[1];
  if (status === '404') return 'it answers 404; see whether the path of spec.baseURL is right';
  if (status !== undefined) return `it answers ${status}; see whether its service is up`;
  return (Object.hasOwn(CAUSES, cause) ? CAUSES[cause] : undefined) ?? 'see whether its service is up';
}

/** A key has trouble where every pod that used it says so: then it is the key's, not the pod's. */
function keyTrouble(entries: readonly UpstreamHealth[]): KeyTrouble | undefined {
  const states = new Set(entries.map(({ state }) => state));
  if (states.size === 0 || states.has('working') || states.has('open')) return undefined;
  if (states.has('rejected')) {
    const message = 'the upstream refuses this key; put a valid one into its Secret';
    return { state: 'Invalid', message };
  }
  if (states.has('out-of-money')) {
    const message = 'the account of this key is out of money; top it up, or take another key';
    return { state: 'Exhausted', message };
  }
  return {
    state: 'RateLimited',
    message: 'in cooldown after a rate limit of the upstream; returns by itself',
  };
}
