// Several calls for one request: who goes with whom, and who waits for whom?

import { expect, test } from 'vitest';
import type { CallOutcome } from '../../../gateway/attempt/run-attempts.ts';
import { runCalls } from '../../../gateway/pipeline/fan-out.ts';
import { type LeaveSignal, Leaving } from '../../../gateway/stream/leaving.ts';

type Outcome = CallOutcome<number>;

const answered = (call: number): Outcome => ({ type: 'answered', answer: call, candidate: 0 });
const turnedAway: Outcome = { type: 'failed', failures: [], targetsAsked: 0 };
const cancelled: Outcome = { type: 'cancelled' };

function untilLeft(caller: LeaveSignal): Promise<Outcome> {
  return new Promise((resolve) => void caller.onLeave(() => resolve(cancelled)));
}

test('a call that throws takes the others with it, and none begins any more', async () => {
  const broken = new Error('nobody had thought of this');
  const begun: number[] = [];
  const left: number[] = [];
  const outcomes = runCalls<number>(9, 3, new Leaving(), (call, caller) => {
    begun.push(call);
    caller.onLeave(() => left.push(call));
    return call === 1 ? Promise.reject(broken) : untilLeft(caller);
  });
  await expect(outcomes).rejects.toBe(broken);
  expect([begun, left]).toEqual([
    [0, 1, 2],
    [0, 1, 2],
  ]);
});

test('a call that was turned away waits for another to end, as long as there is one', async () => {
  const tries: number[] = [];
  let isTaken = false;
  const outcomes = await runCalls<number>(5, 3, new Leaving(), async (call) => {
    tries.push(call);
    if (isTaken) return turnedAway;
    isTaken = true;
    await new Promise(setImmediate);
    isTaken = false;
    return answered(call);
  });
  expect(outcomes).toEqual([0, 1, 2, 3, 4].map(answered));
  expect(tries.length).toBeGreaterThan(5);
});

test('where all are turned away there is nothing to wait for', async () => {
  const tries: number[] = [];
  const outcomes = await runCalls<number>(5, 3, new Leaving(), async (call) => {
    tries.push(call);
    return turnedAway;
  });
  expect(tries).toEqual([0, 1, 2]);
  expect(outcomes.filter(({ type }) => type === 'failed')).toEqual([turnedAway]);
});

test('those that wait go with their caller', async () => {
  const caller = new Leaving();
  const outcomes = runCalls<number>(5, 3, caller, (call, group) =>
    call === 0 ? untilLeft(group) : Promise.resolve(turnedAway),
  );
  await new Promise(setImmediate);
  caller.leave();
  expect(await outcomes).toEqual([cancelled, cancelled, cancelled]);
});
