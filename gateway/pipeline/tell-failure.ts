// No upstream has answered: which error does the caller get, given all that this pod knows?

import type { Failures } from '../attempt/call.ts';
import { retryAfterMsOf } from '../attempt/failure.ts';
import { finalError } from '../attempt/final-error.ts';
import { unavailableError } from '../limits/tell.ts';
import type { GatewayError } from '../request/errors.ts';
import type { Candidate } from '../route/plan.ts';
import { isOwnProvider } from './client-headers.ts';
import type { Fullness } from './limits.ts';
import type { PipelineParts, RoutedExchange } from './parts.ts';

export function tellFailure(
  parts: PipelineParts,
  exchange: RoutedExchange,
  failed: Failures,
  full: ReadonlyMap<Candidate, Full>,
): GatewayError {
  if (failed.failures.length === 0) parts.metrics.onNoTarget(exchange.plan.route.entry.model);
  return failureError(parts, exchange, failed, full);
}

/** A candidate that is skipped because its quotas are used up, or their use is unknown. */
export interface Full extends Pick<Fullness, 'isUnknown'> {
  /** Clock time. */
  readonly untilMs: number;
}

export function failureError(
  { clock, health }: Pick<PipelineParts, 'clock' | 'health'>,
  exchange: Pick<RoutedExchange, 'caller' | 'dialect' | 'facts' | 'plan'>,
  { failures, targetsAsked }: Failures,
  full: ReadonlyMap<Candidate, Full>,
): GatewayError {
  const { facts, plan } = exchange;
  const { candidates } = plan;
  const now = clock.now();
  const fullMs = (candidate: Candidate): number => Math.max(0, (full.get(candidate)?.untilMs ?? 0) - now);
  if (failures.length === 0 && full.values().some(({ isUnknown }) => isUnknown)) return unavailableError();
  // A quota that is used up is a rate limit known in advance.
  const rests = candidates.map(
    (candidate) => health.restReason(candidate, now) ?? (fullMs(candidate) > 0 ? 'rate-limit' : undefined),
  );
  // A key may be in a short cooldown only, because it answers others, while its upstream asked this caller to wait longer.
  const isAllAsked = failures.length > 0 && failures.length >= candidates.length;
  const askedMs = isAllAsked ? Math.min(...failures.map((failure) => retryAfterMsOf(failure) ?? 0)) : 0;
  return finalError(failures, {
    model: facts.model,
    targets: new Set(candidates.map(({ target }) => target)).size,
    targetsAsked,
    shape: exchange.dialect.errorShape,
    isOwnProvider: candidates.every((candidate) => isOwnProvider(exchange, candidate)),
    usableInMs: candidates.reduce(
      (soonest, candidate) =>
        Math.min(soonest, Math.max(health.usableInMs([candidate], now), fullMs(candidate), askedMs)),
      candidates.length === 0 ? 0 : Number.POSITIVE_INFINITY,
    ),
    commonRest: rests.every((rest) => rest === rests[0]) ? rests[0] : undefined,
  });
}
