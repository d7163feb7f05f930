// No upstream has answered: what is the caller told, given all that this pod knows?

import type { AttemptFailure } from '../attempt/failure.ts';
import { finalError } from '../attempt/final-error.ts';
import type { GatewayError } from '../errors.ts';
import type { PipelineParts, RoutedExchange } from './parts.ts';

export function tellFailure(
  { clock, health }: PipelineParts,
  { caller, facts, plan }: RoutedExchange,
  failures: readonly AttemptFailure[],
): GatewayError {
  const { candidates } = plan;
  const now = clock.now();
  const rests = candidates.map((candidate) => health.restReason(candidate, now));
  return finalError(failures, {
    model: facts.model,
    targets: new Set(candidates.map(({ target }) => target)).size,
    isOwnProvider: candidates.every(
      ({ target }) => !target.provider.entry.isPlatform && target.provider.namespace === caller.namespace,
    ),
    usableInMs: health.usableInMs(candidates, now),
    commonRest: rests.every((rest) => rest === rests[0]) ? rests[0] : undefined,
  });
}
