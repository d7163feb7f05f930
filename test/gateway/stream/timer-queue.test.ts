// A queue of deadlines against a list that is searched, in any order of what is set, moved, removed and waited for.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { notQueued, type Timed, TimerQueue } from '../../../gateway/stream/timer-queue.ts';
import { makeFakeClock } from '../../support/fake-clock.ts';

class Waiting implements Timed {
  dueAt = 0;
  queuePlace = notQueued;
  private readonly called: () => void;

  constructor(called: () => void) {
    this.called = called;
  }

  onDue(): void {
    this.called();
  }
}

const step = fc.oneof(
  fc.record({ type: fc.constant('set' as const), which: fc.nat(11), afterMs: fc.nat(100) }),
  fc.record({ type: fc.constant('remove' as const), which: fc.nat(11) }),
  fc.record({ type: fc.constant('advance' as const), ms: fc.nat(60) }),
);

test('each deadline is called once, at its time, unless it is moved or removed before', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const clock = makeFakeClock(1_000);
      const queue = new TimerQueue(clock);
      const called: string[] = [];
      const expected: string[] = [];
      const dueAt = new Map<number, number>();
      const waiting = Array.from(
        { length: 12 },
        (_, which) => new Waiting(() => called.push(`${which} at ${clock.now()}`)),
      );
      for (const each of steps) {
        if (each.type === 'advance') {
          const until = clock.now() + each.ms;
          const due = [...dueAt].filter(([, at]) => at <= until);
          for (const [which, at] of due) {
            dueAt.delete(which);
            expected.push(`${which} at ${at}`);
          }
          clock.advance(each.ms);
          continue;
        }
        const timed = waiting[each.which];
        if (!timed) throw new RangeError('there are twelve');
        if (each.type === 'set') {
          queue.set(timed, clock.now() + each.afterMs);
          dueAt.set(each.which, clock.now() + each.afterMs);
        } else {
          queue.remove(timed);
          dueAt.delete(each.which);
        }
        expect(queue.size).toBe(dueAt.size);
      }
      expect(called.toSorted()).toEqual(expected.toSorted());
      const times = called.map((one) => Number(one.split(' at ')[1]));
      expect(times).toEqual(times.toSorted((a, b) => a - b));
      expect(clock.pending().length, 'one timer for all').toBeLessThanOrEqual(1);
    }),
  );
});

test('a due deadline that another one removes is not called', () => {
  const clock = makeFakeClock();
  const queue = new TimerQueue(clock);
  const called: string[] = [];
  const second = new Waiting(() => called.push('second'));
  const first = new Waiting(() => {
    called.push('first');
    queue.remove(second);
  });
  queue.set(first, 10);
  queue.set(second, 10);
  clock.advance(10);
  expect(called).toEqual(['first']);
});

test('a deadline that sets itself again is called again, in another turn', () => {
  const clock = makeFakeClock();
  const queue = new TimerQueue(clock);
  const calledAt: number[] = [];
  const again: Waiting = new Waiting(() => {
    calledAt.push(clock.now());
    if (calledAt.length < 3) queue.set(again, clock.now() + 5);
  });
  queue.set(again, 5);
  clock.advance(100);
  expect([calledAt, clock.pending(), queue.size]).toEqual([[5, 10, 15], [], 0]);
});

test('a thousand deadlines that are removed in time use one timer', () => {
  const clock = makeFakeClock();
  let timers = 0;
  const queue = new TimerQueue({
    ...clock,
    setTimer: (ms, callback) => {
      timers++;
      return clock.setTimer(ms, callback);
    },
  });
  for (let n = 0; n < 1_000; n++) {
    const timed = new Waiting(() => expect.unreachable('it was removed'));
    queue.set(timed, clock.now() + 60_000);
    clock.advance(1);
    queue.remove(timed);
  }
  expect([timers, queue.size]).toEqual([1, 0]);
});

test('a deadline that throws stops no other', () => {
  const clock = makeFakeClock(1_000);
  const queue = new TimerQueue(clock);
  const called: string[] = [];
  const bad = new Waiting(() => {
    throw new Error('nobody had thought of this');
  });
  queue.set(bad, 1_010);
  for (const name of ['same time', 'later']) {
    queue.set(new Waiting(() => called.push(name)), name === 'later' ? 1_020 : 1_010);
  }
  expect(() => clock.advance(10)).toThrow('nobody had thought of this');
  clock.advance(10);
  expect(called).toEqual(['same time', 'later']);
});
