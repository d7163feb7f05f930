// What does the state of a key or a target mean, in a few words? One that this page does not know is shown as it is written.

import type { Tone } from './conditions.ts';

/** Of a key of a Provider, as its status names the state. */
export function keyStateWords(state: string): string {
  return (
    {
      Active: 'in use',
      Disabled: 'disabled',
      Missing: 'missing from its Secret',
      Invalid: 'rejected by the upstream',
      RateLimited: 'cooling down after a rate limit',
      Exhausted: 'quota used up',
    }[state] ?? state
  );
}

interface TargetFacts {
  readonly state: string;
  readonly message: string;
  readonly isSuspended: boolean;
  /** Its provider fails as a whole. */
  readonly isProviderFailing: boolean;
  /** Earlier targets serve, and it had no calls lately. */
  readonly isStandby: boolean;
}

/** Of a target of a ModelRoute. */
export function targetWords(facts: TargetFacts): { readonly word: string; readonly tone: Tone } {
  const { state, message, isSuspended, isProviderFailing, isStandby } = facts;
  if (isSuspended && (state === 'Ready' || state === 'Unhealthy'))
    return { word: 'not called: route suspended', tone: 'off' };
  if (state === 'Ready' && message !== '') return { word: 'degraded', tone: 'warn' };
  if (state === 'Ready' && isProviderFailing) return { word: 'provider failing', tone: 'bad' };
  if (state === 'Ready') return { word: isStandby ? 'standby' : 'in use', tone: 'good' };
  return { word: otherStates[state] ?? state, tone: ['Drained', 'unknown'].includes(state) ? 'off' : 'bad' };
}

const otherStates: Readonly<Record<string, string>> = {
  Drained: 'drained: weight 0',
  Unhealthy: 'failing',
  RefNotFound: 'Provider not found',
  RefNotPermitted: 'Provider not shared with this namespace',
  ProviderNotReady: 'Provider not ready',
  Unsupported: 'cannot serve this model',
};
