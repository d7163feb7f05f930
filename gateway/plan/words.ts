// Why would a target be tried, or skipped? In sentences for readers of a plan; none names a provider, which only some may know.

import type { RouteEntry } from '../../core/contract/routing-table.ts';
import type { Saturation } from '../pipeline/limits.ts';
import type { CooldownReason } from '../route/cooldown.ts';
import type { BreakerOfCandidate } from '../route/health.ts';
import { WAYS } from './foresee-attempts.ts';

const cooldowns: Readonly<Record<CooldownReason, string>> = {
  'rate-limit': 'after a rate limit',
  'out-of-money': 'since its account is out of money',
  rejected: 'since the provider refuses it',
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
  const why = isForModel ? `${cooldowns[reason]} of this model` : cooldowns[reason];
  return isOnTrial
    ? `The key was in cooldown ${why}; another request is its trial at this moment.`
    : `The key is in cooldown ${why}, for ${inSeconds(restMs ?? 0)} more.`;
}

export function sayBreaker({ of, phase, isOnTrial, forMs }: BreakerOfCandidate): string {
  const whose = of === 'provider' ? "of the provider's address" : 'of this model at its provider';
  switch (phase) {
    case 'open':
      return `The breaker ${whose} is open, for ${inSeconds(forMs)} more.`;
    case 'half-open':
      return isOnTrial
        ? `The breaker ${whose} is half-open, and another request is its trial at this moment.`
        : `The breaker ${whose} is half-open: the request would be its trial.`;
    case 'slow-start':
      return `The breaker ${whose} has just closed: it gets a part of its usual calls, and more by the second.`;
  }
}

export const sayQuota = ({ waitMs, isUnknown }: Saturation): string =>
  isUnknown
    ? 'The provider or its key has a quota, and the store of limits does not answer.'
    : `The quota of the provider or of its key is used up, for ${inSeconds(waitMs)} more.`;

export const lastResort =
  'No target is in service. This one has the shortest wait, and is tried once a second all the same.';
export const waitedFor =
  'No other target is in service, and its key is usable again within two seconds: the request waits for it.';
export const suspect =
  "The operator's health checks find the provider silent or the key refused: other targets go before it.";
export const drained = 'Its weight is 0: it is drained.';
export const keyless = 'Its provider has no usable key.';
export const unpricedDenied = 'It has no price, and the route serves none without (unpriced: Deny).';
export const unpricedBudget = 'It has no price, and the request is paid from a budget.';

/** @param affinity What keeps calls together; undefined: drawn by weight. */
export function sayFirst(
  priority: number,
  share: number | undefined,
  affinity: RouteEntry['failover']['affinity'],
  isKeyNamed: boolean,
): string {
  const tier = `Priority ${priority} is the lowest that is in service`;
  if (affinity === 'ApiKey')
    return isKeyNamed
      ? `${tier}; calls of this ApiKey belong here (affinity: ApiKey).`
      : `${tier}; each ApiKey has a target where its calls belong (affinity: ApiKey), and none was named.`;
  if (affinity === 'PromptPrefix')
    return `${tier}; requests that begin like this one belong here (affinity: PromptPrefix).`;
  return share === undefined
    ? `${tier}.`
    : `${tier}; it was drawn by weight, as ${percent(share)} of the calls are: another request may begin elsewhere.`;
}

export function sayAfter(ways: readonly string[]): string {
  return ways.length === WAYS.length
    ? 'It is tried when those before it fail.'
    : `It is tried when those before it ${listed(ways)}.`;
}

export const sayBeyond = (maxAttempts: number): string =>
  `It could serve the request, and would not be come to: a failure of those before it is held against it too, or the ${maxAttempts} attempts of the route (failover.maxAttempts) are over before.`;

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
