// What does one gateway pod report of a Provider, in one word? For the operator, which reads many pods, and for local mode with one.
// Pure.

import type { UpstreamHealth } from './exchange.ts';

/** `partly`: it answers, but not for every model. The last two are of all of its keys: each is refused, or some for want of money. */
export type PodWord = 'working' | 'partly' | 'failing' | 'refused' | 'exhausted';

/** @param entries what the pod has learnt of this Provider. @param usedKeys names of its keys that are in use. */
export function podWordOf(entries: readonly UpstreamHealth[], usedKeys: readonly string[]): PodWord {
  const ofKeys = wordOfKeys(entries, usedKeys);
  if (ofKeys !== undefined) return ofKeys;
  const open = entries.filter(({ state }) => state === 'open');
  if (open.length === 0) return 'working';
  if (open.some(({ key, upstreamModel }) => key === undefined && upstreamModel === undefined))
    return 'failing';
  return entries.some(({ state }) => state === 'working') ? 'partly' : 'failing';
}

/** Why the upstream takes none of its keys until a person sees to them; undefined if it takes one, or may after a rate limit. */
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
