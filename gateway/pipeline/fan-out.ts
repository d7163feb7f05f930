// Several upstream calls for one request: a few at a time, and they share one fate.

import type { CallOutcome } from '../attempt/run-attempts.ts';
import { type LeaveSignal, Leaving } from '../stream/leaving.ts';

/**
 * The outcomes in the order of the calls; the first call that fails takes the others with it, and
 * those that had not begun have none.
 *
 * @param atOnce Calls under way at the same time.
 */
export async function runCalls<Answer>(
  calls: number,
  atOnce: number,
  caller: LeaveSignal,
  run: (call: number, caller: LeaveSignal) => Promise<CallOutcome<Answer>>,
): Promise<readonly CallOutcome<Answer>[]> {
  if (calls === 1) return [await run(0, caller)];
  const group = new Leaving();
  caller.onLeave(() => group.leave());
  const outcomes = new Map<number, CallOutcome<Answer>>();
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < calls && !group.hasLeft) {
      const call = next++;
      const outcome = await run(call, group);
      outcomes.set(call, outcome);
      if (outcome.type !== 'answered') group.leave();
    }
  };
  await Promise.all(Array.from({ length: Math.min(calls, atOnce) }, worker));
  return [...outcomes].sort(([a], [b]) => a - b).map(([, outcome]) => outcome);
}
