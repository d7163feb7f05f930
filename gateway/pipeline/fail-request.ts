// No upstream has answered: which error does the caller get, given all that this pod knows?

import type { Failures } from '../attempt/call.ts';
import { retryAfterMsOf } from '../attempt/failure.ts';
import { finalError } from '../attempt/final-error.ts';
import { unavailableError } from '../limits/limit-errors.ts';
import type { GatewayError } from '../request/errors.ts';
import type { Candidate } from '../route/plan.ts';
import { isOwnProvider } from './client-headers.ts';
import type { Saturation } from './limits.ts';
import type { PipelineParts, RoutedExchange } from './parts.ts';

export function failRequest(
  parts: PipelineParts,
  exchange: RoutedExchange,
  failed: Failures,
  saturated: ReadonlyMap<Candidate, Saturated>,
): GatewayError {
  if (failed.failures.length === 0) parts.metrics.onNoTarget(exchange.plan.route.entry.model);
  return failureError(parts, exchange, failed, saturated);
}

/** A candidate that is skipped because its quotas are used up, or their use is unknown. */
export interface Saturated extends Pick<Saturation, 'isUnknown'> {
  /** Clock time. */
  readonly untilMs: number;
}

export function failureError(
  { clock, health }: Pick<PipelineParts, 'clock' | 'health'>,
  exchange: Pick<RoutedExchange, 'caller' | 'dialect' | 'facts' | 'plan'>,
  { failures, targetsAsked }: Failures,
  saturated: ReadonlyMap<Candidate, Saturated>,
): GatewayError {
  const { facts, plan } = exchange;
  const { candidates } = plan;
  const now = clock.now();
  const saturatedMs = (candidate: Candidate): number =>
    Math.max(0, (saturated.get(candidate)?.untilMs ?? 0) - now);
  if (failures.length === 0 && saturated.values().some(({ isUnknown }) => isUnknown))
    return unavailableError();
  // A quota that is used up is a rate limit known in advance.
  const cooldowns = candidates.map(
    (candidate) =>
      health.cooldownReason(candidate, now) ?? (saturatedMs(candidate) > 0 ? 'rate-limit' : undefined),
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
        Math.min(soonest, Math.max(health.usableInMs([candidate], now), saturatedMs(candidate), askedMs)),
      candidates.length === 0 ? 0 : Number.POSITIVE_INFINITY,
    ),
    commonCooldown: cooldowns.every((rest) => rest === cooldowns[0]) ? cooldowns[0] : undefined,
  });
}
