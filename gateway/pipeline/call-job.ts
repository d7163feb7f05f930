// One upstream call as a job for the attempt loop: its candidates, timers, health, and what is
// written down about each attempt.

import type { AttemptEnds, AttemptResult } from '../attempt/attempt.ts';
import { failureCode } from '../attempt/failure.ts';
import type { CandidateFacts } from '../attempt/next-step.ts';
import type { CallJob } from '../attempt/run-attempts.ts';
import { buildLedgerRecord } from '../meter/ledger.ts';
import type { Watched } from '../route/health.ts';
import type { Candidate } from '../route/plan.ts';
import { renewCandidate } from '../route/renew.ts';
import type { LeaveSignal } from '../stream/leaving.ts';
import type { AttemptTrace } from '../trace/request-trace.ts';
import { healthSignal } from './health-signal.ts';
import {
  type Answer,
  type PipelineParts,
  type RoutedExchange,
  streamsUpstream,
  timeoutFor,
} from './parts.ts';

interface CallOptions {
  /** Clock time at which the whole request ends. */
  readonly totalAt: number;
  readonly caller: LeaveSignal;
  open(candidate: Candidate): AttemptEnds<Answer>;
  /** Gives the attempt's number within the request. */
  onStart(candidate: Candidate): number;
}

export function buildCallJob(
  parts: PipelineParts,
  exchange: RoutedExchange,
  { totalAt, caller, open, onStart }: CallOptions,
): CallJob<Answer> {
  const { clock, health, holder, random, defaults } = parts;
  const { route } = exchange.plan;
  // Of this call alone: another one learns for itself what has been replaced.
  const candidates = [...exchange.plan.candidates];
  const facts = candidates.map(factsOf);
  const at = (position: number): Candidate => {
    const candidate = candidates[position];
    if (!candidate) throw new RangeError(`there is no candidate ${position}`);
    return candidate;
  };
  let number = 0;
  let watched: Watched | undefined;
  /** The attempt before, where it has failed. */
  let left: { readonly position: number; readonly failure: string } | undefined;
  let attemptTrace: AttemptTrace | undefined;
  const underWay = (): Watched => {
    if (!watched) throw new Error('no attempt is under way');
    return watched;
  };
  return {
    candidates: facts,
    failover: route.entry.failover,
    totalAt,
    caller,
    clock,
    random,
    hasSideEffects: () => exchange.dialect.hasSideEffects(exchange.body),
    isUsable: (position) => health.isUsable(at(position), clock.now()),
    isClosed: (position) => health.isClosed(at(position), clock.now()),
    restMs: (position) => health.restMs(at(position), clock.now()),
    hasRetryBudget: (position) => health.hasBudget(at(position), clock.now()),
    lastResort: () => health.lastResort(candidates, clock.now()),
    limits: (position, isLast) => ({
      firstEventMs: streamsUpstream(exchange)
        ? timeoutFor(exchange, at(position), isLast ? 'lastFirstEventMs' : 'firstEventMs', defaults)
        : null,
      livenessMs: timeoutFor(exchange, at(position), 'livenessMs', defaults),
      progressMs: timeoutFor(exchange, at(position), 'progressMs', defaults),
    }),
    open: (position, isFresh) => {
      attemptTrace = exchange.trace?.openAttempt();
      const traced = attemptTrace ? { ...at(position), traceHeaders: attemptTrace.headers } : at(position);
      return open(isFresh ? { ...traced, isFresh } : traced);
    },
    renew: (position) => {
      const newest = holder.current();
      const renewed = newest && renewCandidate(at(position), route.entry.id, newest);
      if (renewed === undefined || clock.now() >= totalAt || caller.hasLeft) return undefined;
      facts.push(factsOf(renewed));
      return candidates.push(renewed) - 1;
    },
    onStart: (position, isRepetition) => {
      if (left !== undefined && left.position !== position) {
        parts.metrics.onFailover(route.entry.model, at(left.position).target.provider.entry.id, left.failure);
      }
      number = onStart(at(position));
      watched = health.onStart(at(position), isRepetition, clock.now());
    },
    onContent: () => health.onContent(underWay(), clock.now()),
    onEnd: (position, result, judgement, isExcused) => {
      const signal = isExcused
        ? ({ type: 'none' } as const)
        : healthSignal(result, judgement, {
            rateLimitCooldownMs: at(position).target.provider.entry.breaker.rateLimitCooldownMs,
            hasStoredState: exchange.facts.storedState !== undefined,
          });
      health.onEnd(underWay(), signal, clock.now());
      if ('failure' in result && result.failure.kind === 'gateway' && result.failure.error !== undefined) {
        parts.onFailure(result.failure.error, exchange.requestId);
      }
      left =
        !isExcused && 'failure' in result ? { position, failure: failureCode(result.failure) } : undefined;
      if (isStale(result)) parts.metrics.onStaleReuse(at(position).target.provider.entry.id);
      meterAttempt(parts, exchange, at(position), number, result, attemptTrace?.spanId);
    },
  };
}

function isStale(result: AttemptResult<Answer>): boolean {
  return 'failure' in result && result.failure.kind === 'transport' && result.failure.isStale === true;
}

function factsOf({ target, endpoint }: Candidate): CandidateFacts {
  return {
    keyId: endpoint.healthId,
    targetId: target.entry.name,
    endpointId: target.provider.entry.id,
    tier: target.entry.priority,
    contextLength: target.entry.contextLength,
  };
}

function meterAttempt(
  { journal, metrics, onUsage }: PipelineParts,
  exchange: RoutedExchange,
  candidate: Candidate,
  number: number,
  result: AttemptResult<Answer>,
  spanId: string | undefined,
): void {
  const { facts, plan, view, trace } = exchange;
  const record = buildLedgerRecord({
    requestId: exchange.requestId,
    number,
    tableGeneration: view.generation,
    caller: exchange.caller,
    route: plan.route,
    model: facts.model,
    target: candidate.target,
    providerKey: candidate.endpoint.key?.name,
    clientDialect: exchange.dialect.name,
    upstreamDialect: candidate.dialect,
    isStream: facts.isStream,
    startedAtMs: result.startedAtMs,
    durationMs: result.durationMs,
    firstContentMs: result.firstContentMs,
    outcome: result.outcome,
    status: result.status,
    failure: 'failure' in result ? failureCode(result.failure) : undefined,
    usage: result.usage,
    outputEstimate: result.outputEstimate,
    requestBytes: exchange.body.bytes,
  });
  journal.append(record);
  metrics.onAttempt(record, {
    model: plan.route.entry.model,
    providerType: candidate.target.provider.entry.type,
  });
  if (trace && spanId !== undefined) {
    trace.endAttempt(spanId, record, { target: candidate.target, ...result });
  }
  onUsage?.(record, trace?.traceId, spanId);
  if (result.malformedFrames > 0) metrics.onMalformedFrames(record, result.malformedFrames);
}
