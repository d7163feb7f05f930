// Whose limits are they, and what does one request ask of them?

import { limitMemberOf, rateNames } from '../../core/catalog/limits.ts';
import type { Budget } from '../../core/contract/budget.ts';
import type { RateLimits } from '../../core/contract/routing-table.ts';
import type { Meter } from './meter.ts';
import type { Claim } from './reservation.ts';

export type SubjectKind = 'api-key' | 'tenant' | 'model-route' | 'provider' | 'provider-key';

export interface Subject {
  readonly kind: SubjectKind;
  /** `namespace/name`; of a provider key with its own name behind it, of a tenant the namespace alone. */
  readonly id: string;
  readonly limits: RateLimits;
  readonly budgets?: readonly Budget[] | undefined;
}

/** What a request is expected to use of limits. */
export interface Amounts {
  readonly requests: number;
  readonly tokens: number;
}

export interface Wanted extends Amounts {
  /** Of the tokens, those that it is sure to ask for: a limit below them lets it never pass. */
  readonly tokensMin?: number;
  /** What its owner may have to pay for what is known of it; absent or 0: budgets are no matter of it. */
  readonly nanodollars?: number;
  /** And at most, with what nobody can know of it before; absent: no more. */
  readonly nanodollarsMax?: number;
  /** It is under way for a while, and settled when it ends. */
  readonly takesPlace: boolean;
}

const minuteMs = 60_000;

/**
 * What is claimed of a subject; undefined where it has no limit that concerns the request. Of a limit each of several pods claims
 * its share, but never less than lets one request through: with more pods than a limit has requests or places, so many may pass.
 *
 * @param pods 1 where all claim of the same store.
 */
export function claimOf({ kind, id, limits }: Subject, wanted: Wanted, pods: number): Claim | undefined {
  const meters = rateNames.flatMap((name) => meterOf(name, limits[limitMemberOf[name]], wanted[name], pods));
  const { maxConcurrentRequests } = limits;
  const hasPlaces = maxConcurrentRequests !== undefined && wanted.takesPlace;
  if (meters.length === 0 && !hasPlaces) return undefined;
  return {
    key: `${kind}:${id}`,
    meters,
    ...(hasPlaces ? { placesMax: Math.max(1, Math.floor(maxConcurrentRequests / pods)) } : {}),
  };
}

function meterOf(name: string, limit: number | undefined, amount: number, pods: number): Meter[] {
  if (limit === undefined || amount === 0) return [];
  return [
    {
      name,
      limit,
      capacity: Math.max(1, limit / pods),
      leakPerMs: limit / pods / minuteMs,
      // More than the whole limit is an estimate that is too high: it takes all there is.
      amount: Math.min(amount, limit),
    },
  ];
}
