// What does one gateway pod report of a Provider, in one word? For the operator, which reads many pods, and for local mode with one.
// Pure.

import type { TargetCalls, UpstreamHealth } from './exchange.ts';

/** `partly`: it answers, but not every call. The last two are of all of its keys: each is refused, or some for want of money. */
export type PodWord = 'working' | 'partly' | 'failing' | 'refused' | 'exhausted';

/**
 * @param entries what the pod has learnt of this Provider.
 * @param usedKeys names of its keys that are in use.
 * @param calls what came of recent calls to it, by model; empty: the pod is of a version that does not report them.
 */
export function podWordOf(
  entries: readonly UpstreamHealth[],
  usedKeys: readonly string[],
  calls: readonly TargetCalls[],
): PodWord {
  const ofKeys = wordOfKeys(entries, usedKeys);
  if (ofKeys !== undefined) return ofKeys;
  const models = failingModels(entries, calls);
  if (models === '*') return 'failing';
  if (models.size === 0) return calls.some(({ state }) => state === 'partly') ? 'partly' : 'working';
  const isOtherAnswered =
    calls.length > 0
      ? calls.some(({ upstreamModel }) => !models.has(upstreamModel))
      : entries.some(({ state }) => state === 'working');
  return isOtherAnswered ? 'partly' : 'failing';
}

/** Models of which one pod gets no answer; `*`: all. Keys are left aside. */
export function failingModels(
  entries: readonly UpstreamHealth[],
  calls: readonly TargetCalls[],
): '*' | ReadonlySet<string> {
  const open = entries.filter(({ state, key }) => state === 'open' && key === undefined);
  if (open.some(({ upstreamModel }) => upstreamModel === undefined)) return '*';
  const failing = calls.filter(({ state }) => state === 'failing');
  return new Set([...open, ...failing].flatMap(({ upstreamModel }) => upstreamModel ?? []));
}

/** Why the upstream refuses all of its keys until a person acts; undefined if it takes one, or may after a rate limit. */
export function wordOfKeys(
  entries: readonly UpstreamHealth[],
  usedKeys: readonly string[],
): Extract<PodWord, 'refused' | 'exhausted'> | undefined {
  const has = (state: UpstreamHealth['state'], name: string): boolean =>
    entries.some((entry) => entry.key === name && entry.state === state);
  const isUseless = (name: string): boolean => has('rejected', name) || has('out-of-money', name);
  if (usedKeys.length === 0 || !usedKeys.every(isUseless)) return undefined;
  return usedKeys.some((name) => has('out-of-money', name)) ? 'exhausted' : 'refused';
}
