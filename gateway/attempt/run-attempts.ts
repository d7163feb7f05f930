// All attempts of one upstream call: one after the other until one answers, none is left, or the
// caller has seen content.

import type { Clock } from '../../core/clock.ts';
import type { RouteEntry } from '../../core/contract/routing-table.ts';
import type { UpstreamError } from '../dialects/dialect.ts';
import type { LeaveSignal } from '../stream/leaving.ts';
import { runAttempt } from './attempt.ts';
import type { Limits } from './deadlines.ts';
import type { AttemptEnds, AttemptResult } from './ends.ts';
import { namesTokenLimit, type RequestSize } from './error-quirks.ts';
import {
  type AttemptFailure,
  isForConnection,
  type Judgement,
  judgeFailure,
  retryAfterMsOf,
} from './failure.ts';
import {
  type CandidateFacts,
  type FailedAttempt,
  type NextStep,
  nextStep,
  type Situation,
} from './next-step.ts';

/** How one upstream call ended. */
export type CallOutcome<Answer> =
  | { readonly type: 'answered'; readonly answer: Answer | undefined; readonly candidate: number }
  /** No attempt gave anything the client has seen; empty where none could even be started. */
  | ({ readonly type: 'failed' } & Failures)
  | { readonly type: 'broken-off'; readonly failure: AttemptFailure }
  | { readonly type: 'cancelled' };

/** What became of a call that nobody answered. */
export interface Failures {
  /** In the order of the attempts. */
  readonly failures: readonly AttemptFailure[];
  /** At how many targets they were made: several keys of one are one. */
  readonly targetsAsked: number;
}

export interface CallJob<Answer> {
  readonly candidates: readonly CandidateFacts[];
  readonly failover: RouteEntry['failover'];
  /** Clock time at which the whole request ends. */
  readonly totalAt: number;
  readonly caller: LeaveSignal;
  readonly clock: Clock;
  readonly random: () => number;
  /** The request does more than answer: it is not sent again where it may have been acted on. */
  hasSideEffects(): boolean;
  isUsable(candidate: number): boolean;
  isClosed(candidate: number): boolean;
  /** When it is worth while to look again whether a resting key may be used; undefined where it does not rest. */
  restMs(candidate: number): number | undefined;
  /** How long its key still cools after a rate limit, where nothing else keeps it from being used. */
  readonly coolsForMs: (candidate: number, hasWaited: boolean) => number | undefined;
  hasRetryBudget(candidate: number): boolean;
  lastResort(): number | undefined;
  /** Tokens that the call asks for. */
  size(): RequestSize;
  /** The timers of an attempt; `isLast` where no other candidate could take over. */
  limits(candidate: number, isLast: boolean): Limits;
  /**
   * Whether the quotas of the upstream let an attempt in; a promise only where they are kept elsewhere. False: they are used up, no
   * attempt is made, and the candidate is not usable for a while. What is let in is opened next, or leaves.
   */
  enter(candidate: number): boolean | Promise<boolean>;
  /** It was let in, and no attempt is made after all. */
  leave(candidate: number): void;
  /** `isFresh`: over a connection of its own. */
  open(candidate: number, isFresh: boolean): AttemptEnds<Answer>;
  /**
   * Where the candidate was refused for credentials that have been replaced meanwhile: the position of the same one
   * with those of now, which then is one of `candidates` too.
   */
  renew(candidate: number): number | undefined;
  /**
   * Whether the candidate refused a member that the gateway had added by itself, and is to be asked again without it: a caller is
   * never refused for what it has not written.
   */
  withhold(candidate: number, error: UpstreamError): boolean;
  /** `isRepetition`: it was asked before, and has failed. */
  onStart(candidate: number, isRepetition: boolean): void;
  /** With the first content of a stream. */
  onContent(candidate: number): void;
  /**
   * Told of every attempt that was made, in order: for the ledger, metrics and health. `isExcused`: it failed for
   * what has been replaced since, which says nothing about the upstream as it is now.
   */
  onEnd(
    candidate: number,
    result: AttemptResult<Answer>,
    judgement: Judgement | undefined,
    isExcused: boolean,
  ): void;
}

/** Credentials that change more often than this within one request are no rotation. */
const renewalsMax = 3;

/** Another try that is none of the route's: the upstream has not been asked yet as it is to be asked now. */
interface Excuse {
  readonly candidate: number;
  readonly isFresh: boolean;
}

/** Rejects only where a candidate cannot be opened, or its quotas cannot be asked. */
export async function runAttempts<Answer>(job: CallJob<Answer>): Promise<CallOutcome<Answer>> {
  const failed: (FailedAttempt & { readonly failure: AttemptFailure })[] = [];
  let excuse: Excuse | undefined;
  let renewals = 0;
  let waitedMs = 0;
  for (;;) {
    const step: NextStep =
      excuse === undefined
        ? nextStep(situationOf(job, failed, waitedMs))
        : { type: 'try', candidate: excuse.candidate, delayMs: 0 };
    if (step.type === 'give-up') {
      const asked = new Set(failed.map((attempt) => job.candidates[attempt.candidate]?.targetId));
      return { type: 'failed', failures: failed.map(({ failure }) => failure), targetsAsked: asked.size };
    }
    const { candidate } = step;
    if (step.delayMs > 0) {
      if (!(await wait(job, step.delayMs))) return { type: 'cancelled' };
      if (failed.length === 0) waitedMs += step.delayMs;
      // Asked first: a timer may be early, and time goes on between two questions.
      const restMs = job.restMs(candidate);
      // Others may have found it dead meanwhile, were told to wait longer, or are trying it now.
      if (!job.isUsable(candidate)) {
        const waiting = failed.pop();
        if (waiting) failed.push({ ...waiting, ...waitAgain(waiting, step.delayMs, restMs) });
        continue;
      }
    }

    const isRepetition = excuse === undefined && failed.some((attempt) => attempt.candidate === candidate);
    // Many may have been told to wait while there was some of it left.
    if (isRepetition && !job.hasRetryBudget(candidate)) continue;
    const last = failed.at(-1);
    const isRefused = last?.candidate === candidate && isForConnection(last.failure);
    const isFresh = excuse?.isFresh ?? isRefused;
    const entering = job.enter(candidate);
    if (entering !== true && !(entering && (await isLetIn(job, candidate, isRepetition, entering)))) {
      if (job.caller.hasLeft) return { type: 'cancelled' };
      excuse = undefined;
      continue;
    }
    // First: where no request can be made for it, no attempt has begun that would have to end.
    const ends = job.open(candidate, isFresh);
    job.onStart(candidate, isRepetition);
    const told = await runAttempt(ends, {
      limits: job.limits(candidate, !hasOther(job, failed, candidate)),
      totalAt: job.totalAt,
      clock: job.clock,
      caller: job.caller,
      onContent: () => job.onContent(candidate),
    });
    const result = told.outcome === 'failed' ? { ...told, failure: withSize(job, told.failure) } : told;
    const judgement =
      result.outcome === 'failed' || result.outcome === 'broken-off'
        ? judgeFailure(result.failure)
        : undefined;
    excuse = excuseFor(job, candidate, result, judgement, renewals);
    job.onEnd(candidate, result, judgement, excuse !== undefined);
    if (excuse !== undefined) {
      if (!excuse.isFresh) renewals += 1;
      continue;
    }
    switch (result.outcome) {
      case 'answered':
        return { type: 'answered', answer: result.answer, candidate };
      case 'cancelled':
        return { type: 'cancelled' };
      case 'broken-off':
        return { type: 'broken-off', failure: result.failure };
      case 'failed':
        failed.push({
          candidate,
          failure: result.failure,
          judgement: judgement ?? judgeFailure(result.failure),
          retryAfterMs: waitOf(job, candidate, result.failure),
        });
    }
  }
}

/** Where the upstream names a limit, it matters whether the request can ever pass. */
function withSize<Answer>(job: CallJob<Answer>, failure: AttemptFailure): AttemptFailure {
  const isAboutSize = failure.kind === 'status' && namesTokenLimit(failure.status, failure.error);
  return isAboutSize ? { ...failure, size: job.size() } : failure;
}

/** Who asks for no wait at all is left alone for as long as the key rests by our own rule. */
function waitOf<Answer>(
  job: CallJob<Answer>,
  candidate: number,
  failure: AttemptFailure,
): number | undefined {
  const askedMs = retryAfterMsOf(failure);
  return askedMs === 0 ? job.restMs(candidate) : askedMs;
}

/**
 * Time goes on while quotas are asked elsewhere: others may have found the candidate dead meanwhile, be on its one trial, or have used
 * up what may be repeated, or the caller has left.
 */
async function isLetIn<Answer>(
  job: CallJob<Answer>,
  candidate: number,
  isRepetition: boolean,
  entering: Promise<boolean>,
): Promise<boolean> {
  const wasUsable = job.isUsable(candidate);
  if (!(await entering)) return false;
  const isSpent = isRepetition && !job.hasRetryBudget(candidate);
  if (!job.caller.hasLeft && !isSpent && (!wasUsable || job.isUsable(candidate))) return true;
  job.leave(candidate);
  return false;
}

function excuseFor<Answer>(
  job: CallJob<Answer>,
  candidate: number,
  result: AttemptResult<Answer>,
  judgement: Judgement | undefined,
  renewals: number,
): Excuse | undefined {
  if (result.outcome !== 'failed') return undefined;
  const { failure } = result;
  // Nothing has been done: the request itself was refused.
  const isRefusal = failure.kind === 'status' && (failure.status === 400 || failure.status === 422);
  if (isRefusal && job.withhold(candidate, failure.error)) return { candidate, isFresh: false };
  // Whatever was replaced or closed meanwhile: the upstream may be doing what it was asked.
  if (judgement?.mayHaveActed && job.hasSideEffects()) return undefined; // guard: resend-side-effects
  if (isForCredentials(failure, judgement) && renewals < renewalsMax) {
    const renewed = job.renew(candidate);
    if (renewed !== undefined) return { candidate: renewed, isFresh: false };
  }
  // The upstream closed an idle connection just as the request set out. A new one cannot be stale.
  const isStale = failure.kind === 'transport' && failure.isStale === true;
  if (!isStale || job.caller.hasLeft || job.clock.now() >= job.totalAt) return undefined;
  return { candidate, isFresh: true };
}

/** What was waited out counts: nobody waits for a key for ever. */
function waitAgain(
  { waitedMs = 0 }: FailedAttempt,
  delayMs: number,
  restMs: number | undefined,
): Pick<FailedAttempt, 'retryAfterMs' | 'waitedMs'> {
  const overMs = waitedMs + delayMs;
  return { retryAfterMs: restMs === undefined ? undefined : overMs + restMs, waitedMs: overMs };
}

/**
 * Refused for who we are, or no connection came about: both can be for what has been replaced. So can a reset: of TLS 1.3
 * a client hears only after its handshake that its certificate was refused.
 */
function isForCredentials(failure: AttemptFailure, judgement: Judgement | undefined): boolean {
  return failure.kind === 'transport' || judgement?.reason === 'AuthFailure';
}

const silence = judgeFailure({ kind: 'timeout', timer: 'first-event' });

/** Whether another target would take over if this attempt were silent. */
function hasOther<Answer>(
  job: CallJob<Answer>,
  failed: readonly FailedAttempt[],
  candidate: number,
): boolean {
  // Saves most requests the look for what they would do besides answering.
  if (job.candidates.length < 2) return false;
  const silent = { candidate, judgement: silence, retryAfterMs: undefined };
  return nextStep(situationOf(job, [...failed, silent], 0)).type === 'try';
}

function situationOf<Answer>(
  job: CallJob<Answer>,
  failed: readonly FailedAttempt[],
  waitedMs: number,
): Situation {
  return {
    waitedMs,
    coolsForMs: job.coolsForMs,
    candidates: job.candidates,
    isUsable: (candidate) => job.isUsable(candidate),
    isClosed: (candidate) => job.isClosed(candidate),
    hasRetryBudget: (candidate) => job.hasRetryBudget(candidate),
    lastResort: () => job.lastResort(),
    failed,
    failover: job.failover,
    hasSideEffects: () => job.hasSideEffects(),
    remainingMs: job.totalAt - job.clock.now(),
    random: job.random,
  };
}

/** False: the caller went away meanwhile. */
function wait({ clock, caller }: Pick<CallJob<unknown>, 'clock' | 'caller'>, ms: number): Promise<boolean> {
  return new Promise((resolve) => {
    const cancelTimer = clock.setTimer(ms, () => {
      stopListening();
      resolve(true);
    });
    const stopListening = caller.onLeave(() => {
      cancelTimer();
      resolve(false);
    });
  });
}
