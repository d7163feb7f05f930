// All attempts of one upstream call: one after the other until one answers, none is left, or the
// caller has seen content.

import type { Clock } from '../clock.ts';
import type { RouteEntry } from '../contract/routing-table.ts';
import type { LeaveSignal } from '../stream/leaving.ts';
import { type AttemptEnds, type AttemptResult, runAttempt } from './attempt.ts';
import type { Limits } from './deadlines.ts';
import { type AttemptFailure, type Judgement, judgeFailure } from './failure.ts';
import { type CandidateFacts, type FailedAttempt, type NextStep, nextStep } from './next-step.ts';

/** How one upstream call ended. */
export type CallOutcome<Answer> =
  | { readonly type: 'answered'; readonly answer: Answer | undefined; readonly candidate: number }
  /** No attempt gave anything the client has seen; empty where none could even be started. */
  | { readonly type: 'failed'; readonly failures: readonly AttemptFailure[] }
  | { readonly type: 'broken-off'; readonly failure: AttemptFailure }
  | { readonly type: 'cancelled' };

export interface CallJob<Answer> {
  readonly candidates: readonly CandidateFacts[];
  readonly failover: RouteEntry['failover'];
  /** Clock time at which the whole request ends. */
  readonly totalAt: number;
  readonly caller: LeaveSignal;
  readonly clock: Clock;
  readonly random: () => number;
  isUsable(candidate: number): boolean;
  /** The timers of an attempt; `isLast` where no other candidate could take over. */
  limits(candidate: number, isLast: boolean): Limits;
  open(candidate: number): AttemptEnds<Answer>;
  /**
   * Where the candidate was refused for credentials that have been replaced meanwhile: the position of the same one
   * with those of now, which then is one of `candidates` too.
   */
  renew(candidate: number): number | undefined;
  onStart(candidate: number): void;
  /** With the first content of a stream. */
  onContent(candidate: number): void;
  /**
   * Told of every attempt that was made, in order: for the ledger, metrics and health. `isRenewed`: it failed for
   * what has been replaced since, which says nothing about the upstream as it is now.
   */
  onEnd(
    candidate: number,
    result: AttemptResult<Answer>,
    judgement: Judgement | undefined,
    isRenewed: boolean,
  ): void;
}

/** Credentials that change more often than this within one request are no rotation. */
const renewalsMax = 3;

/** Never rejects. */
export async function runAttempts<Answer>(job: CallJob<Answer>): Promise<CallOutcome<Answer>> {
  const failed: (FailedAttempt & { readonly failure: AttemptFailure })[] = [];
  let renewed: number | undefined;
  let renewals = 0;
  for (;;) {
    const step: NextStep =
      renewed === undefined
        ? nextStep({
            candidates: job.candidates,
            isUsable: (candidate) => job.isUsable(candidate),
            failed,
            failover: job.failover,
            remainingMs: job.totalAt - job.clock.now(),
            random: job.random,
          })
        : { type: 'try', candidate: renewed, delayMs: 0 };
    if (step.type === 'give-up') return { type: 'failed', failures: failed.map(({ failure }) => failure) };
    const { candidate } = step;
    if (step.delayMs > 0) {
      if (!(await wait(job, step.delayMs))) return { type: 'cancelled' };
      // Others may have found it dead meanwhile. A key that rested is tried all the same: its time is up.
      const isRested = failed.at(-1)?.judgement.keyRest === 'rate-limit';
      if (!isRested && !job.isUsable(candidate)) continue;
    }

    job.onStart(candidate);
    const result = await runAttempt(job.open(candidate), {
      limits: job.limits(candidate, !hasOther(job, failed, candidate)),
      totalAt: job.totalAt,
      clock: job.clock,
      caller: job.caller,
      onContent: () => job.onContent(candidate),
    });
    const judgement =
      result.outcome === 'failed' || result.outcome === 'broken-off'
        ? judgeFailure(result.failure)
        : undefined;
    // No failure of the route's to count or to forbid: the upstream has not been asked yet as it is to be asked now.
    renewed =
      result.outcome === 'failed' && isForCredentials(result.failure, judgement) && renewals < renewalsMax
        ? job.renew(candidate)
        : undefined;
    job.onEnd(candidate, result, judgement, renewed !== undefined);
    if (renewed !== undefined) {
      renewals += 1;
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
          retryAfterMs: result.failure.kind === 'status' ? result.failure.retryAfterMs : undefined,
        });
    }
  }
}

/** Refused for who we are, or no connection came about: both can be for what has been replaced. */
function isForCredentials(failure: AttemptFailure, judgement: Judgement | undefined): boolean {
  return failure.kind === 'transport' || judgement?.keyRest === 'rejected';
}

/** Whether another target could take over if this attempt were silent. */
function hasOther<Answer>(
  job: CallJob<Answer>,
  failed: readonly FailedAttempt[],
  candidate: number,
): boolean {
  if (failed.length + 1 >= job.failover.maxAttempts || !job.failover.retryOn.includes('Timeout'))
    return false;
  const here = job.candidates[candidate];
  return job.candidates.some(
    (other, position) =>
      other.targetId !== here?.targetId &&
      job.isUsable(position) &&
      !failed.some((attempt) => job.candidates[attempt.candidate]?.targetId === other.targetId),
  );
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
