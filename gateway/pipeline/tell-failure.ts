// No upstream has answered: what is the caller told, given all that this pod knows?

import type { AttemptFailure } from '../attempt/failure.ts';
import { finalError } from '../attempt/final-error.ts';
import type { GatewayError } from '../errors.ts';
import { isOwnProvider } from './client-headers.ts';
import type { PipelineParts, RoutedExchange } from './parts.ts';

export function tellFailure(
  { clock, health, metrics }: PipelineParts,
  exchange: RoutedExchange,
  failures: readonly AttemptFailure[],
): GatewayError {
  const { facts, plan } = exchange;
  const { candidates } = plan;
  const now = clock.now();
  if (failures.length === 0) metrics.onNoTarget(plan.route.entry.model);
  const rests = candidates.map((candidate) => health.restReason(candidate, now));
  return finalError(failures, {
    model: facts.model,
    targets: new Set(candidates.map(({ target }) => target)).size,
    shape: exchange.dialect.errorShape,
    isOwnProvider: candidates.every((candidate) => isOwnProvider(exchange, candidate)),
    usableInMs: health.usableInMs(candidates, now),
    commonRest: rests.every((rest) => rest === rests[0]) ? rests[0] : undefined,
  });
}
