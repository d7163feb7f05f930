// One upstream call: attempts, one after the other until one answers, none is left, or the client has seen content. Between two of them
// it is asynchronous only where the world is: a wait for a retry, and quotas that are kept elsewhere.

import type { Clock } from '../../core/clock.ts';
import type { UpstreamError } from '../dialects/dialect.ts';
import type { TimerQueue } from '../stream/timer-queue.ts';
import { Attempt } from './attempt.ts';
import type { AttemptIo, AttemptOwner, AttemptResult } from './attempt-io.ts';
import type { Limits } from './deadlines.ts';
import { namesTokenLimit, type RequestSize } from './error-quirks.ts';
import {
  type AttemptFailure,
  isForConnection,
  type Judgement,
  judgeFailure,
  retryAfterMsOf,
} from './failure.ts';
import { type FailedAttempt, type NextStep, nextStep, type Situation } from './next-step.ts';

/** How one upstream call ended. */
export type CallOutcome<Answer> =
  | { readonly type: 'answered'; readonly answer: Answer | undefined; readonly candidate: number }
  /** No attempt gave anything the client has seen; empty if none could even be started. */
  | ({ readonly type: 'failed' } & Failures)
  | { readonly type: 'broken-off'; readonly failure: AttemptFailure }
  | { readonly type: 'cancelled' };

/** The result of a call that no upstream answered. */
export interface Failures {
  /** In the order of the attempts. */
  readonly failures: readonly AttemptFailure[];
  /** At how many targets they were made: several keys of one are one. */
  readonly targetsAsked: number;
}

/** An attempt that has failed, and how. */
type Failed = FailedAttempt & { readonly failure: AttemptFailure };

/** The parts, state and callbacks of a call. Candidates may be added later: see `renew`. */
export interface CallJob<Answer> extends Situation {
  readonly failed: Failed[];
  waitedMs: number;
  remainingMs: number;
  /** Clock time at which the whole request ends. */
  readonly totalAt: number;
  readonly clock: Clock;
  readonly timers: TimerQueue;
  /** When to check again whether a key in cooldown may be used; undefined without a cooldown. */
  restMs(candidate: number): number | undefined;
  /** Tokens that the call asks for. */
  size(): RequestSize;
  /** The timers of an attempt; `isLast` if no other candidate could take over. */
  limits(candidate: number, isLast: boolean): Limits;
  /**
   * Whether the quotas of the upstream let an attempt in; a promise only where they are kept elsewhere. False: they are used up, no
   * attempt is made, and the candidate is not usable for a while. An admitted candidate is opened next, or leaves.
   */
  enter(candidate: number): boolean | Promise<boolean>;
  /** An admitted candidate is not tried after all. */
  leave(candidate: number): void;
  /** `isFresh`: over a new connection. */
  open(candidate: number, isFresh: boolean): AttemptIo<Answer>;
  /**
   * For a candidate that was refused for credentials which have since been replaced: the position of the same candidate
   * with the new credentials, which is added to `candidates`.
   */
  renew(candidate: number): number | undefined;
  /**
   * Whether the candidate refused a member that only the gateway had added, and is to be tried again without the member: a caller must
   * never be refused for something that it did not write.
   */
  withhold(candidate: number, error: UpstreamError): boolean;
  /** `isRepetition`: it was asked before, and has failed. */
  onStart(candidate: number, isRepetition: boolean): void;
  /** With the first content of a stream. */
  onContent(candidate: number): void;
  /**
   * Called after every attempt, in order: for the ledger, metrics and health. `isExcused`: the attempt failed for
   * what has been replaced since, which says nothing about the upstream as it is now.
   */
  onEnd(
    candidate: number,
    result: AttemptResult<Answer>,
    judgement: Judgement | undefined,
    isExcused: boolean,
  ): void;
  /** The call has ended: called once, and no other method after this one. Does not throw. */
  onOver(outcome: CallOutcome<Answer>): void;
  /** In its place: a candidate cannot be opened, or its quotas cannot be asked. Does not throw. */
  onThrown(error: unknown): void;
}

/** Credentials that change more often than this within one request are no rotation. */
const renewalsMax = 3;

/** A retry that no retry policy counts: without a refused member, with a renewed credential, or over a new connection. */
interface Excuse {
  readonly candidate: number;
  readonly isFresh: boolean;
}

export class Call<Answer> implements AttemptOwner<Answer> {
  readonly clock: Clock;
  readonly timers: TimerQueue;
  readonly totalAt: number;
  private readonly job: CallJob<Answer>;
  /** Of the attempt in flight, or of the next one to admit. */
  private candidate = -1;
  private isRepetition = false;
  private isFresh = false;
  private attempt: Attempt<Answer> | undefined;
  private excuse: Excuse | undefined;
  private renewals = 0;
  private cancelWait: (() => void) | undefined;
  private isCancelled = false;
  private isOver = false;

  constructor(job: CallJob<Answer>) {
    this.job = job;
    this.clock = job.clock;
    this.timers = job.timers;
    this.totalAt = job.totalAt;
  }

  start(): void {
    try {
      this.step();
    } catch (error) {
      this.throw(error);
    }
  }

  /** The caller has left. */
  leave(): void {
    if (this.isCancelled || this.isOver) return;
    this.isCancelled = true;
    this.attempt?.cancel();
    if (this.cancelWait === undefined) return;
    this.cancelWait();
    this.end({ type: 'cancelled' });
  }

  onContent(): void {
    this.job.onContent(this.candidate);
  }

  onEnd(result: AttemptResult<Answer>): void {
    this.attempt = undefined;
    try {
      this.conclude(
        result.outcome === 'failed' ? { ...result, failure: this.withSize(result.failure) } : result,
      );
    } catch (error) {
      this.throw(error);
    }
  }

  /** The next attempt, a wait before it, or the end. */
  private step(): void {
    const { job } = this;
    while (!this.isCancelled) {
      job.remainingMs = this.totalAt - this.clock.now();
      const step: NextStep = this.excuse
        ? { type: 'try', candidate: this.excuse.candidate, delayMs: 0 }
        : nextStep(job);
      if (step.type === 'give-up') {
        this.giveUp();
        return;
      }
      if (step.delayMs > 0) {
        this.wait(step.candidate, step.delayMs);
        return;
      }
      if (this.try(step.candidate)) return;
    }
    this.end({ type: 'cancelled' });
  }

  private giveUp(): void {
    const { candidates, failed } = this.job;
    const asked = new Set(failed.map((attempt) => candidates[attempt.candidate]?.targetId));
    const failures = failed.map(({ failure }) => failure);
    this.end({ type: 'failed', failures, targetsAsked: asked.size });
  }

  private wait(candidate: number, delayMs: number): void {
    this.cancelWait = this.clock.setTimer(delayMs, () => {
      this.cancelWait = undefined;
      try {
        if (!this.hasComeBack(candidate, delayMs) || !this.try(candidate)) this.step();
      } catch (error) {
        this.throw(error);
      }
    });
  }

  /** After a wait. Another request may have marked the candidate as failed, extended its cooldown, or begun its trial call. */
  private hasComeBack(candidate: number, delayMs: number): boolean {
    const { job } = this;
    if (job.failed.length === 0) job.waitedMs += delayMs;
    // Checked first: a timer may fire early, and time passes between two checks.
    const restMs = job.restMs(candidate);
    if (job.isUsable(candidate)) return true;
    const waiting = job.failed.pop();
    if (waiting) job.failed.push({ ...waiting, ...waitAgain(waiting, delayMs, restMs) });
    return false;
  }

  /** @returns False: the candidate was not admitted, and another step follows. */
  private try(candidate: number): boolean {
    const { excuse, job } = this;
    const { failed } = job;
    this.candidate = candidate;
    this.isRepetition = excuse === undefined && failed.some((attempt) => attempt.candidate === candidate);
    // Many requests may have begun to wait while there was retry budget left.
    if (this.isRepetition && !job.hasRetryBudget(candidate)) return false;
    const last = failed.at(-1);
    const isRefused = last?.candidate === candidate && isForConnection(last.failure);
    this.isFresh = excuse?.isFresh ?? isRefused;
    const entering = job.enter(candidate);
    if (entering === false) {
      this.excuse = undefined;
      return false;
    }
    if (entering === true) this.begin();
    else this.awaitEntrance(entering);
    return true;
  }

  private awaitEntrance(entering: Promise<boolean>): void {
    const wasUsable = this.job.isUsable(this.candidate);
    entering
      .then((isOpen) => {
        if (isOpen && this.mayBegin(wasUsable)) {
          this.begin();
          return;
        }
        if (isOpen) this.job.leave(this.candidate);
        this.excuse = undefined;
        this.step();
      })
      .catch((error: unknown) => this.throw(error));
  }

  /**
   * Quotas are checked elsewhere, which takes time. By then other requests may have marked the candidate as failed, taken its one
   * trial call or used up the retry budget, or the caller may have left.
   */
  private mayBegin(wasUsable: boolean): boolean {
    const isSpent = this.isRepetition && !this.job.hasRetryBudget(this.candidate);
    return !this.isCancelled && !isSpent && (!wasUsable || this.job.isUsable(this.candidate));
  }

  private begin(): void {
    const { job, candidate } = this;
    // First: if no request can be made for it, no attempt has begun that would have to end.
    const ends = job.open(candidate, this.isFresh);
    job.onStart(candidate, this.isRepetition);
    this.attempt = new Attempt(ends, job.limits(candidate, !this.hasOther(candidate)), this);
    this.attempt.start();
  }

  /** Whether another target would take over if this attempt were silent. */
  private hasOther(candidate: number): boolean {
    // Saves most requests the look for what they would do besides answering.
    const { job } = this;
    if (job.candidates.length < 2) return false;
    job.remainingMs = this.totalAt - this.clock.now();
    job.failed.push({ candidate, ...silent });
    const { type } = nextStep(job);
    job.failed.pop();
    return type === 'try';
  }

  /** Where the upstream names a limit, it matters whether the request can ever pass. */
  private withSize(failure: AttemptFailure): AttemptFailure {
    const isAboutSize = failure.kind === 'status' && namesTokenLimit(failure.status, failure.error);
    return isAboutSize ? { ...failure, size: this.job.size() } : failure;
  }

  private conclude(result: AttemptResult<Answer>): void {
    const { candidate } = this;
    const judgement = 'failure' in result ? judgeFailure(result.failure) : undefined;
    this.excuse = this.excuseFor(result, judgement);
    this.job.onEnd(candidate, result, judgement, this.excuse !== undefined);
    if (this.excuse !== undefined) {
      if (!this.excuse.isFresh) this.renewals += 1;
      this.stepLater();
      return;
    }
    switch (result.outcome) {
      case 'answered':
        this.end({ type: 'answered', answer: result.answer, candidate });
        break;
      case 'cancelled':
        this.end({ type: 'cancelled' });
        break;
      case 'broken-off':
        this.end({ type: 'broken-off', failure: result.failure });
        break;
      case 'failed':
        this.job.failed.push({
          candidate,
          failure: result.failure,
          judgement: judgement ?? judgeFailure(result.failure),
          retryAfterMs: this.waitOf(result.failure),
        });
        this.stepLater();
    }
  }

  /** The failed transport still runs its handlers, so the next request waits until they are done. */
  private stepLater(): void {
    queueMicrotask(() => this.start());
  }

  private excuseFor(result: AttemptResult<Answer>, judgement: Judgement | undefined): Excuse | undefined {
    if (result.outcome !== 'failed') return undefined;
    const { job, candidate } = this;
    const { failure } = result;
    const mayGoOn = !this.isCancelled && this.clock.now() < this.totalAt;
    // Nothing has been done: the request itself was refused.
    const isRefusal = failure.kind === 'status' && (failure.status === 400 || failure.status === 422);
    if (isRefusal && mayGoOn && job.withhold(candidate, failure.error)) return { candidate, isFresh: false };
    // Even if credentials were replaced or the connection closed, the upstream may be executing the request.
    if (judgement?.mayHaveActed && job.hasSideEffects()) return undefined; // guard: resend-side-effects
    if (mayGoOn && isForCredentials(failure, judgement) && this.renewals < renewalsMax) {
      const renewed = job.renew(candidate);
      if (renewed !== undefined) return { candidate: renewed, isFresh: false };
    }
    // The upstream closed an idle connection just as the request set out. A new one cannot be stale.
    const isStale = failure.kind === 'transport' && failure.isStale === true;
    return mayGoOn && isStale ? { candidate, isFresh: true } : undefined;
  }

  /** A Retry-After of 0 is replaced by the cooldown of our own rule. */
  private waitOf(failure: AttemptFailure): number | undefined {
    const askedMs = retryAfterMsOf(failure);
    return askedMs === 0 ? this.job.restMs(this.candidate) : askedMs;
  }

  private end(outcome: CallOutcome<Answer>): void {
    if (this.isOver) return;
    this.isOver = true;
    this.job.onOver(outcome);
  }

  private throw(error: unknown): void {
    if (this.isOver) return;
    this.isOver = true;
    this.job.onThrown(error);
  }
}

/** Time already waited counts, so that no request waits for a key for ever. */
function waitAgain(
  { waitedMs = 0 }: FailedAttempt,
  delayMs: number,
  restMs: number | undefined,
): Pick<FailedAttempt, 'retryAfterMs' | 'waitedMs'> {
  const overMs = waitedMs + delayMs;
  return { retryAfterMs: restMs === undefined ? undefined : overMs + restMs, waitedMs: overMs };
}

/**
 * The upstream refused the credential, or no connection was made. Replaced credentials can be the cause of both, and of a reset: with
 * TLS 1.3 a client learns only after its handshake that its certificate was refused.
 */
function isForCredentials(failure: AttemptFailure, judgement: Judgement | undefined): boolean {
  return failure.kind === 'transport' || judgement?.reason === 'AuthFailure';
}

const silence: AttemptFailure = { kind: 'timeout', timer: 'first-event' };
const silent = { failure: silence, judgement: judgeFailure(silence), retryAfterMs: undefined };
