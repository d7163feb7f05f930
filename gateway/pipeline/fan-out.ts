// Several upstream calls for one request: a few at a time, and they share one fate.

import type { CallOutcome } from '../attempt/call.ts';
import { Cancellation, type CancelSignal } from '../stream/cancellation.ts';
import { nextTurn } from '../table/next-turn.ts';

/** Memory of all calls in flight together. */
interface Room {
  /** False: no memory for this call in addition to those in flight. */
  begin(call: number): boolean;
  end(call: number): void;
}

/**
 * The outcomes in the order of the calls; the first call that fails takes the others with it, and
 * calls that had not begun have none.
 *
 * A call without a usable target runs again whenever another one has ended, as long as others are in flight: one of them
 * may be the only trial of an open breaker, or hold the last seat of a quota. The same holds for a call without free memory.
 *
 * Each call begins in a separate turn of the event loop, because writing its request may take a while.
 *
 * @param atOnce Calls in flight at the same time.
 */
export async function runCalls<Answer>(
  calls: number,
  atOnce: number,
  caller: CancelSignal,
  run: (call: number, caller: CancelSignal) => Promise<CallOutcome<Answer>>,
  room: Room,
): Promise<readonly CallOutcome<Answer>[]> {
  const group = new Cancellation();
  caller.onCancel(() => group.cancel());
  const outcomes = new Map<number, CallOutcome<Answer>>();
  const waiting: (() => void)[] = [];
  const wakeAll = (): void => {
    for (const wake of waiting.splice(0)) wake();
  };
  group.onCancel(wakeAll);
  let inFlight = 0;
  let turn = Promise.resolve();
  const runUntilAsked = async (call: number): Promise<CallOutcome<Answer>> => {
    for (;;) {
      if (call > 0) {
        turn = turn.then(nextTurn);
        await turn;
      }
      if (group.isCancelled) return { type: 'cancelled' };
      if (room.begin(call)) {
        inFlight++;
        const outcome = await run(call, group).finally(() => room.end(call));
        inFlight--;
        if (!isTurnedAway(outcome) || inFlight === 0) return outcome;
      }
      if (!group.isCancelled) await new Promise<void>((resolve) => waiting.push(resolve));
    }
  };
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < calls && !group.isCancelled) {
      const call = next++;
      const outcome = await runUntilAsked(call);
      outcomes.set(call, outcome);
      if (outcome.type === 'answered') wakeAll();
      else group.cancel();
    }
  };
  const workers = Array.from({ length: Math.min(calls, atOnce) }, worker);
  try {
    await Promise.all(workers);
  } finally {
    // If one has thrown, the others are still in flight.
    group.cancel();
  }
  return [...outcomes].sort(([a], [b]) => a - b).map(([, outcome]) => outcome);
}

function isTurnedAway(outcome: CallOutcome<unknown>): boolean {
  return outcome.type === 'failed' && outcome.failures.length === 0;
}
