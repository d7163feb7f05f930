// What does one gateway pod say of a Provider, in one word? For the operator, which hears many pods, and for local mode, where there is one.
// Pure.

import type { UpstreamHealth } from './exchange.ts';

/** `partly`: it answers, but not for every model. */
export type PodWord = 'working' | 'partly' | 'failing' | 'refused';

/** @param entries what the pod has learnt of this Provider. @param usedKeys names of its keys that are in use. */
export function podWordOf(entries: readonly UpstreamHealth[], usedKeys: readonly string[]): PodWord {
  if (areAllRefused(entries, usedKeys)) return 'refused';
  const open = entries.filter(({ state }) => state === 'open');
  if (open.length === 0) return 'working';
  if (open.some(({ key, upstreamModel }) => key === undefined && upstreamModel === undefined))
    return 'failing';
  return entries.some(({ state }) => state === 'working') ? 'partly' : 'failing';
}

/** The upstream takes none of its keys. */
export function areAllRefused(entries: readonly UpstreamHealth[], usedKeys: readonly string[]): boolean {
  const isRefused = (name: string) => entries.some(({ key, state }) => key === name && state === 'rejected');
  return usedKeys.length > 0 && usedKeys.every(isRefused);
}
