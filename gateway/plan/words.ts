// Why would a target be tried, or skipped? In sentences for readers of a plan; none names a provider, which only some may know.

import type { RouteEntry } from '../../core/contract/routing-table.ts';
import type { Saturation } from '../pipeline/limits.ts';
import type { CooldownReason } from '../route/cooldown.ts';
import type { BreakerOfCandidate } from '../route/health.ts';
import { WAYS } from './foresee-attempts.ts';

const cooldowns: Readonly<Record<CooldownReason, string>> = {
  'rate-limit': 'after a rate limit',
  'out-of-money': 'because its account is out of credit',
  rejected: 'because the provider rejects it',
};

interface CooldownSaid {
  readonly reason: CooldownReason;
  /** For this model, and not as a whole. */
  readonly isForModel: boolean;
  /** How long its cooldown still lasts; undefined if the trial after it is in flight. */
  readonly restMs: number | undefined;
  readonly isOnTrial: boolean;
}

export function sayCooldown({ reason, isForModel, restMs, isOnTrial }: CooldownSaid): string {
  const why = isForModel ? `for this model ${cooldowns[reason]}` : cooldowns[reason];
  return isOnTrial
    ? `The key was in cooldown ${why}; another request is testing it now.`
    : `The key is in cooldown ${why}, for ${inSeconds(restMs ?? 0)} more.`;
}

export function sayBreaker({ of, phase, isOnTrial, forMs }: BreakerOfCandidate): string {
  const whose = of === 'provider' ? "of the provider's address" : 'of this model at its provider';
  switch (phase) {
    case 'open':
      return `The breaker ${whose} is open, for ${inSeconds(forMs)} more.`;
    case 'half-open': {
      const paused = of === 'provider' ? 'This provider was paused' : 'This model was paused at its provider';
      return isOnTrial
        ? `${paused}; another request is testing it now.`
        : `${paused}; this call would test it.`;
    }
    case 'slow-start':
      return `The breaker ${whose} has just closed: its share of calls is growing back (slow start).`;
  }
}

export const sayQuota = ({ waitMs, isUnknown }: Saturation): string =>
  isUnknown
    ? 'The provider or its key has a quota, and the store of limits does not answer.'
    : `The quota of the provider or of its key is used up, for ${inSeconds(waitMs)} more.`;

export const lastResort =
  'No target is available. This one has the shortest wait, so it is tried once a second.';
export const waitedFor =
  'No other target is available, and its key leaves cooldown within two seconds: the request waits for it.';
export const suspect =
  'Health checks of the operator fail for its provider or key: other targets come first.';
export const drained = 'Its weight is 0: it is drained.';
export const keyless = 'Its provider has no usable key.';
export const unpricedDenied = 'It has no price, and the route requires one (unpriced: Deny).';
export const unpricedBudget = 'It has no price, and the request needs one: it is paid from a budget.';

/** @param affinity What keeps calls together; undefined: drawn by weight. */
export function sayFirst(
  priority: number,
  share: number | undefined,
  affinity: RouteEntry['failover']['affinity'],
  isKeyNamed: boolean,
): string {
  const tier = `Priority ${priority} is the lowest with an available target`;
  if (affinity === 'ApiKey')
    return isKeyNamed
      ? `${tier}; calls of this ApiKey keep to this target (affinity: ApiKey).`
      : `${tier}; the calls of an ApiKey keep to one target (affinity: ApiKey); name the key to see which.`;
  if (affinity === 'PromptPrefix')
    return `${tier}; requests that begin like this one keep to this target (affinity: PromptPrefix).`;
  return share === undefined
    ? `${tier}.`
    : `${tier}; chosen by weight, like ${percent(share)} of the calls: another request may start elsewhere.`;
}

export function sayAfter(ways: readonly string[]): string {
  return ways.length === WAYS.length
    ? 'It is tried if the targets before it fail.'
    : `It is tried if the targets before it ${listed(ways)}.`;
}

export const sayBeyond = (maxAttempts: number): string =>
  `It could serve the request, but its turn does not come: it shares the failure of a target before it, or the ${maxAttempts} attempts of the route (failover.maxAttempts) are used up.`;

/** `a, b or c`. */
function listed(words: readonly string[]): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;
}

function inSeconds(ms: number): string {
  return `${Math.max(1, Math.ceil(ms / 1_000))} s`;
}

function percent(share: number): string {
  return `${Math.round(share * 1_000) / 10} %`;
}
