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

/** Of a target of a ModelRoute. */
export function targetStateWords(state: string, message = ''): string {
  if (state === 'Ready' && message !== '') return 'degraded';
  return (
    {
      Ready: 'in use',
      Drained: 'drained: weight 0',
      Unhealthy: 'failing',
      RefNotFound: 'Provider not found',
      RefNotPermitted: 'Provider not shared with this namespace',
      ProviderNotReady: 'Provider not ready',
      Unsupported: 'cannot serve this model',
    }[state] ?? state
  );
}

export function targetTone(state: string, message: string): Tone {
  if (state === 'Ready') return message === '' ? 'good' : 'warn';
  return state === 'Drained' || state === 'unknown' ? 'off' : 'bad';
}
