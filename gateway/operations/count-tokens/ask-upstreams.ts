// Which upstream has counted a request? The first that can count and is surely in service; one attempt each, and three in all.

import { parseJson } from '../../../core/parse-json.ts';
import { judgeFailure } from '../../attempt/failure.ts';
import { findUpstreamDialect } from '../../dialects/registry.ts';
import { asRecord } from '../../json/record.ts';
import { healthSignal } from '../../pipeline/health-signal.ts';
import type { PipelineParts, RoutedExchange } from '../../pipeline/parts.ts';
import type { HealthSignal } from '../../route/health.ts';
import type { Candidate } from '../../route/plan.ts';
import type { CancelSignal } from '../../stream/cancellation.ts';
import { askOnce, type SmallAnswer } from '../ask-once.ts';
import { countRequest } from './count-request.ts';

/** For all attempts together. Clients ask this in bursts and can do without, so the wait for an exact number is short. */
const countWithinMs = 5_000;

const attemptsMax = 3;

interface Asked {
  /** Undefined if no upstream has counted. */
  readonly counted: number | undefined;
  readonly attempts: number;
}

export async function askUpstreams(
  parts: PipelineParts,
  exchange: RoutedExchange,
  caller: CancelSignal,
): Promise<Asked> {
  const { health, clock } = parts;
  const giveUpAt = clock.now() + countWithinMs;
  let attempts = 0;
  for (const candidate of exchange.plan.candidates) {
    const leftMs = giveUpAt - clock.now();
    if (caller.isCancelled || attempts === attemptsMax || leftMs <= 0) break;
    if (!health.isUsable(candidate, clock.now()) || health.awaitsTrial(candidate, clock.now())) continue;
    const request = countRequest(exchange, candidate);
    if (!request) continue;
    attempts++;
    const watched = health.onStart(candidate, false, clock.now(), exchange.caller.key.id);
    const traced = exchange.trace?.openAttempt(candidate);
    const asked = traced ? { ...candidate, traceHeaders: traced.headers } : candidate;
    const answer = await askOnce(parts, exchange, asked, request, leftMs, caller);
    if (traced?.span) {
      exchange.trace?.endCount(traced.span, { target: candidate.target, status: answer?.status });
    }
    health.onEnd(watched, signalOf(answer, candidate), clock.now());
    const { countMember = 'input_tokens' } = request.upstream.asUpstream;
    const tokens = answer?.status === 200 ? asRecord(parseJson(answer.body))?.[countMember] : undefined;
    if (Number.isSafeInteger(tokens) && Number(tokens) >= 0) return { counted: Number(tokens), attempts };
  }
  return { counted: undefined, attempts };
}

/** Token counting has separate limits, rights and outages: only "the account is out of money" says something about all requests. */
function signalOf(answer: SmallAnswer | undefined, candidate: Candidate): HealthSignal {
  if (answer === undefined || answer.status === 200) return { type: 'none' };
  const error = findUpstreamDialect(candidate.dialect).readError(Buffer.from(answer.body));
  const failure = { kind: 'status', status: answer.status, error, retryAfterMs: undefined } as const;
  const judgement = judgeFailure(failure);
  if (judgement.keyCooldown !== 'out-of-money') return { type: 'none' };
  return healthSignal({ outcome: 'failed', failure, firstContentMs: undefined, durationMs: 0 }, judgement, {
    rateLimitCooldownMs: 0,
    hasStoredState: false,
  });
}
