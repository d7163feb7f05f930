// Attempts and calls as promises, for tests that await how they end.

import { Attempt } from '../../../gateway/attempt/attempt.ts';
import type { AttemptIo, AttemptOwner, AttemptResult } from '../../../gateway/attempt/attempt-io.ts';
import { Call, type CallJob, type CallOutcome } from '../../../gateway/attempt/call.ts';
import type { Limits } from '../../../gateway/attempt/deadlines.ts';
import type { CancelSignal } from '../../../gateway/stream/cancellation.ts';

type AttemptOptions = Omit<AttemptOwner<unknown>, 'onEnd'> & {
  readonly limits: Limits;
  readonly caller: CancelSignal;
};

export function runAttempt<Answer>(
  ends: AttemptIo<Answer>,
  { limits, caller, ...owner }: AttemptOptions,
): Promise<AttemptResult<Answer>> {
  return new Promise((resolve) => {
    const attempt = new Attempt(ends, limits, { ...owner, onEnd: resolve });
    attempt.start();
    caller.onCancel(() => attempt.cancel());
  });
}

type Progress = 'failed' | 'waitedMs' | 'remainingMs';

export type PromisedJob<Answer> = Omit<CallJob<Answer>, 'onOver' | 'onThrown' | Progress> & {
  readonly caller: CancelSignal;
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
    job.caller.onCancel(() => call.leave());
    call.start();
  });
}
