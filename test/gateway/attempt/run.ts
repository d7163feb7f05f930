// Attempts and calls as promises, for tests that await how they end.

import { Attempt } from '../../../gateway/attempt/attempt.ts';
import { Call, type CallJob, type CallOutcome } from '../../../gateway/attempt/call.ts';
import type { Limits } from '../../../gateway/attempt/deadlines.ts';
import type { AttemptEnds, AttemptOwner, AttemptResult } from '../../../gateway/attempt/ends.ts';
import type { LeaveSignal } from '../../../gateway/stream/leaving.ts';

type AttemptOptions = Omit<AttemptOwner<unknown>, 'onEnd'> & {
  readonly limits: Limits;
  readonly caller: LeaveSignal;
};

export function runAttempt<Answer>(
  ends: AttemptEnds<Answer>,
  { limits, caller, ...owner }: AttemptOptions,
): Promise<AttemptResult<Answer>> {
  return new Promise((resolve) => {
    const attempt = new Attempt(ends, limits, { ...owner, onEnd: resolve });
    attempt.start();
    caller.onLeave(() => attempt.cancel());
  });
}

type Progress = 'failed' | 'waitedMs' | 'remainingMs';

export type PromisedJob<Answer> = Omit<CallJob<Answer>, 'onOver' | 'onThrown' | Progress> & {
  readonly caller: LeaveSignal;
};

export function runAttempts<Answer>(job: PromisedJob<Answer>): Promise<CallOutcome<Answer>> {
  return new Promise((resolve, reject) => {
    const call = new Call({
      ...job,
      failed: [],
      waitedMs: 0,
      remainingMs: 0,
      onOver: resolve,
      onThrown: reject,
    });
    job.caller.onLeave(() => call.leave());
    call.start();
  });
}
