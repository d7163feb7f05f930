// Several calls for one request: who goes with whom, and who waits for whom?

import { expect, test } from 'vitest';
import type { CallOutcome } from '../../../gateway/attempt/call.ts';
import { runCalls } from '../../../gateway/pipeline/fan-out.ts';
import { Cancellation, type CancelSignal } from '../../../gateway/stream/cancellation.ts';
import { nextTurn } from '../../../gateway/table/next-turn.ts';

type Outcome = CallOutcome<number>;

const answered = (call: number): Outcome => ({ type: 'answered', answer: call, candidate: 0 });
const turnedAway: Outcome = { type: 'failed', failures: [], targetsAsked: 0 };
const cancelled: Outcome = { type: 'cancelled' };

/** As long as several calls take to begin. */
async function someTurns(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await nextTurn();
}

const noBound = { begin: () => true, end: () => {} };

function untilLeft(caller: CancelSignal): Promise<Outcome> {
  return new Promise((resolve) => void caller.onCancel(() => resolve(cancelled)));
}

test('a call that throws cancels the others, and no further call begins', async () => {
  const broken = new Error('nobody had thought of this');
  const begun: number[] = [];
  const left: number[] = [];
  const outcomes = runCalls<number>(
    9,
    3,
    new Cancellation(),
    (call, caller) => {
      begun.push(call);
      caller.onCancel(() => left.push(call));
      return call === 2 ? Promise.reject(broken) : untilLeft(caller);
    },
    noBound,
  );
  await expect(outcomes).rejects.toBe(broken);
  expect([begun, left]).toEqual([
    [0, 1, 2],
    [0, 1, 2],
  ]);
});

test('a call without room waits for another to end, as long as there is one', async () => {
  const tries: number[] = [];
  let isTaken = false;
  const outcomes = await runCalls<number>(
    5,
    3,
    new Cancellation(),
    async (call) => {
      tries.push(call);
      if (isTaken) return turnedAway;
      isTaken = true;
      await someTurns();
      isTaken = false;
      return answered(call);
    },
    noBound,
  );
  expect(outcomes).toEqual([0, 1, 2, 3, 4].map(answered));
  expect(tries.length).toBeGreaterThan(5);
});

test('without a running call there is nothing to wait for', async () => {
  const tries: number[] = [];
  const outcomes = await runCalls<number>(
    5,
    3,
    new Cancellation(),
    async (call) => {
      tries.push(call);
      return turnedAway;
    },
    noBound,
  );
  expect(tries).toEqual([0]);
  expect(outcomes.filter(({ type }) => type === 'failed')).toEqual([turnedAway]);
});

test('waiting calls end if their client disconnects', async () => {
  const caller = new Cancellation();
  const last = Promise.withResolvers<void>();
  const outcomes = runCalls<number>(
    5,
    3,
    caller,
    (call, group) => {
      if (call === 2) last.resolve();
      return call === 0 ? untilLeft(group) : Promise.resolve(turnedAway);
    },
    noBound,
  );
  await last.promise;
  caller.cancel();
  expect(await outcomes).toEqual([cancelled, cancelled, cancelled]);
});

test('each call begins in its own turn, so that other requests are served in between', async () => {
  const seen: (number | 'turn')[] = [];
  const ended = Promise.withResolvers<Outcome>();
  const outcomes = runCalls<number>(
    3,
    3,
    new Cancellation(),
    (call) => {
      seen.push(call);
      setImmediate(() => seen.push('turn'));
      if (call === 2) ended.resolve(answered(7));
      return ended.promise;
    },
    noBound,
  );
  await outcomes;
  expect(seen.slice(0, 5)).toEqual([0, 'turn', 1, 'turn', 2]);
});

test('a call without room waits until another one has ended', async () => {
  const inFlight = new Set<number>();
  let most = 0;
  const room = {
    begin(call: number): boolean {
      if (inFlight.size >= 2) return false;
      inFlight.add(call);
      most = Math.max(most, inFlight.size);
      return true;
    },
    end: (call: number) => void inFlight.delete(call),
  };
  const outcomes = await runCalls<number>(
    9,
    8,
    new Cancellation(),
    async (call) => {
      await someTurns();
      return answered(call);
    },
    room,
  );
  expect([outcomes, most, inFlight.size]).toEqual([
    Array.from({ length: 9 }, (_, call) => answered(call)),
    2,
    0,
  ]);
});

test('a call that waits for room ends if another one fails', async () => {
  const failed: Outcome = {
    type: 'failed',
    failures: [{ kind: 'timeout', timer: 'total' }],
    targetsAsked: 1,
  };
  const asked: number[] = [];
  const room = {
    begin(call: number): boolean {
      asked.push(call);
      if (call === 1) fail.resolve(failed);
      return call === 0;
    },
    end: () => {},
  };
  const fail = Promise.withResolvers<Outcome>();
  expect(await runCalls<number>(2, 2, new Cancellation(), () => fail.promise, room)).toEqual([
    failed,
    cancelled,
  ]);
  expect(asked).toEqual([0, 1]);
});
