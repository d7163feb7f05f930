// Does every key get its turn, once at a time, and again after a failure?

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createQueue, type QueueOptions, type RunOutcome, type RunResult } from '../../operator/loop.ts';
import { makeClock, settle } from './clock.ts';

interface Run {
  readonly key: string;
  readonly signal: AbortSignal;
  end(result?: { afterMs: number }): Promise<void>;
  fail(): Promise<void>;
}

/** A queue whose runs end when the test says so. */
function makeQueue(options: Partial<QueueOptions> = {}) {
  const clock = makeClock();
  const runs: Run[] = [];
  const errors: string[] = [];
  const queue = createQueue({
    name: 'test',
    workers: 1,
    clock,
    random: () => 0,
    run(key, signal) {
      const { promise, resolve, reject } = Promise.withResolvers<RunResult>();
      runs.push({
        key,
        signal,
        async end(result) {
          resolve(result);
          await settle();
        },
        async fail() {
          reject(new Error('no'));
          await settle();
        },
      });
      return promise;
    },
    onError: (key) => errors.push(key),
    ...options,
  });
  const run = (index: number): Run => {
    const found = runs[index];
    if (found === undefined) throw new Error(`There is no run ${index}: ${runs.map(({ key }) => key)}`);
    return found;
  };
  const keys = () => runs.map(({ key }) => key);
  const advance = async (ms: number) => {
    clock.advance(ms);
    await settle();
  };
  const add = async (...added: string[]) => {
    for (const key of added) queue.add(key);
    await settle();
  };
  return { clock, queue, errors, run, keys, advance, add };
}

describe('the queue', () => {
  test('keys are run in order of arrival', async () => {
    const { add, run, keys } = makeQueue();
    await add('a', 'b', 'c');
    expect(keys()).toEqual(['a']);
    await run(0).end();
    await run(1).end();
    await run(2).end();
    expect(keys()).toEqual(['a', 'b', 'c']);
  });

  test('a key in the queue is not added again', async () => {
    const { add, run, keys, queue } = makeQueue();
    await add('a', 'b', 'b', 'b');
    expect(queue.stats().depth).toBe(1);
    await run(0).end();
    await run(1).end();
    expect(keys()).toEqual(['a', 'b']);
  });

  test('a key that is added during its run is run again after it, once, and never beside it', async () => {
    const { add, run, keys } = makeQueue({ workers: 4 });
    await add('a');
    await add('a', 'a', 'a');
    expect(keys()).toEqual(['a']);
    await run(0).end();
    expect(keys()).toEqual(['a', 'a']);
    await run(1).end();
    expect(keys()).toEqual(['a', 'a']);
  });

  test('as many keys are run at once as there are workers', async () => {
    const { add, run, keys, queue } = makeQueue({ workers: 2 });
    await add('a', 'b', 'c');
    expect(keys()).toEqual(['a', 'b']);
    expect(queue.stats()).toMatchObject({ depth: 1, activeWorkers: 2, maxWorkers: 2 });
    await run(1).end();
    expect(keys()).toEqual(['a', 'b', 'c']);
  });

  test('of many keys with synchronous runs, other work runs after each fifty', async () => {
    const runs: string[] = [];
    const { clock, queue } = makeQueue({ workers: 8, run: async (key) => void runs.push(key) });
    for (let index = 0; index < 120; index += 1) queue.add(`${index}`);
    for (const least of [50, 100]) {
      for (let turn = 0; turn < 100; turn += 1) await settle();
      expect(runs.length).toBeGreaterThanOrEqual(least);
      expect(runs.length).toBeLessThan(least + 10);
      clock.advance(0);
    }
    for (let turn = 0; turn < 100; turn += 1) await settle();
    expect(runs).toEqual(Array.from({ length: 120 }, (_, index) => `${index}`));
    expect(queue.stats().depth).toBe(0);
  });

  test('a run does not begin within the call that adds its key', () => {
    const { queue, keys } = makeQueue();
    queue.add('a');
    expect(keys()).toEqual([]);
  });
});

describe('delayed keys', () => {
  test('a key that is added for later is run at that time, and not before', async () => {
    const { queue, keys, advance } = makeQueue();
    queue.addAfter('a', 1_000);
    await advance(999);
    expect(keys()).toEqual([]);
    await advance(1);
    expect(keys()).toEqual(['a']);
  });

  test('of several times for one key, the earliest counts', async () => {
    const { queue, keys, run, advance } = makeQueue();
    queue.addAfter('a', 1_000);
    queue.addAfter('a', 5_000);
    queue.addAfter('a', 100);
    await advance(100);
    expect(keys()).toEqual(['a']);
    await run(0).end();
    await advance(10_000);
    expect(keys()).toEqual(['a']);
  });

  test('a run can ask to be repeated after a time', async () => {
    const { add, run, keys, advance } = makeQueue();
    await add('a');
    await run(0).end({ afterMs: 300 });
    await advance(299);
    expect(keys()).toEqual(['a']);
    await advance(1);
    expect(keys()).toEqual(['a', 'a']);
  });
});

describe('failures', () => {
  test('a key that fails is retried after 5 ms, then after twice as long each time, up to 1,000 s', async () => {
    const { add, run, keys, clock, errors } = makeQueue();
    await add('a');
    const waits: number[] = [];
    for (let failure = 0; failure < 20; failure += 1) {
      await run(failure).fail();
      const [dueMs = Number.NaN] = clock.pending();
      waits.push(dueMs - clock.now());
      clock.advance(dueMs - clock.now());
      await settle();
    }
    expect(waits.slice(0, 5)).toEqual([5, 10, 20, 40, 80]);
    expect(waits.slice(17)).toEqual([5 * 2 ** 17, 1_000_000, 1_000_000]);
    expect(keys()).toHaveLength(21);
    expect(errors).toHaveLength(20);
  });

  test('a key is retried no later than its queue allows, however often it failed', async () => {
    const { add, run, keys, clock } = makeQueue({ backoffMaxMs: 10_000 });
    await add('a');
    for (let failure = 0; failure < 15; failure += 1) {
      await run(failure).fail();
      clock.advance(10_000);
      await settle();
    }
    expect(keys()).toHaveLength(16);
  });

  test('a failure is reported with the delay until the next run, or 0 without one', async () => {
    const waits: number[] = [];
    const { queue, add, run, advance } = makeQueue({
      backoffMaxMs: 12,
      onError: (_key, _error, retryInMs) => waits.push(retryInMs),
    });
    await add('a');
    for (const index of [0, 1, 2]) {
      await run(index).fail();
      await advance(waits.at(-1) ?? 0);
    }
    void queue.close();
    await run(3).fail();
    expect(waits).toEqual([5, 10, 12, 0]);
  });

  test('keys that wait for a retry can be retried at once, and delayed ones stay delayed', async () => {
    const { queue, add, run, keys } = makeQueue();
    queue.addAfter('later', 5_000);
    await add('a');
    await run(0).fail();
    queue.retryNow();
    await settle();
    expect(keys()).toEqual(['a', 'a']);
    await run(1).end();
    queue.retryNow();
    await settle();
    expect(keys()).toEqual(['a', 'a']);
  });

  test('after a success, the next failure counts as the first', async () => {
    const { add, run, clock, advance } = makeQueue();
    await add('a');
    await run(0).fail();
    await advance(5);
    await run(1).fail();
    await advance(10);
    await run(2).end();
    await add('a');
    await run(3).fail();
    expect(clock.pending()).toEqual([clock.now() + 5]);
  });

  test('a key that is added while it waits for a retry is run at once, and not again later', async () => {
    const { add, run, keys, clock } = makeQueue();
    await add('a');
    await run(0).fail();
    await add('a');
    expect(keys()).toEqual(['a', 'a']);
    await run(1).end();
    expect(clock.pending()).toEqual([]);
  });

  test('a key that failed and was added during its run does not wait', async () => {
    const { add, run, keys } = makeQueue();
    await add('a');
    await add('a');
    await run(0).fail();
    expect(keys()).toEqual(['a', 'a']);
  });

  test('of many failing keys, 100 are retried at their own time and then 10 a second', async () => {
    const { add, clock } = makeQueue({ workers: 1_000, run: () => Promise.reject(new Error('no')) });
    await add(...Array.from({ length: 120 }, (_, index) => `key-${index}`));
    const waits = clock.pending();
    expect(waits.slice(0, 100)).toEqual(Array.from({ length: 100 }, () => 5));
    expect(waits.slice(100)).toEqual(
      Array.from({ length: 20 }, (_, index) => expect.closeTo((index + 1) * 100)),
    );
  });

  test('keys that are added are not held back by the limit on retries', async () => {
    const failing = new Set<string>();
    const done: string[] = [];
    const { add } = makeQueue({
      workers: 1_000,
      async run(key) {
        if (failing.has(key)) throw new Error('no');
        done.push(key);
      },
    });
    for (let index = 0; index < 500; index += 1) failing.add(`bad-${index}`);
    await add(...failing);
    await add('good');
    expect(done).toEqual(['good']);
  });

  test('keys that failed together are not retried together', async () => {
    const parts = [0, 0.5, 0.99];
    const { add, clock } = makeQueue({
      workers: 3,
      random: () => parts.shift() ?? 0,
      run: () => Promise.reject(new Error('no')),
    });
    await add('a', 'b', 'c');
    expect(new Set(clock.pending()).size).toBe(3);
  });
});

describe('closing', () => {
  test('waits for running keys, and starts none', async () => {
    const { add, run, keys, queue, clock } = makeQueue();
    await add('a', 'b');
    queue.addAfter('c', 10);
    let isClosed = false;
    const closing = queue.close().then(() => {
      isClosed = true;
    });
    await add('a', 'd');
    expect(isClosed).toBe(false);
    await run(0).end();
    await closing;
    clock.advance(1_000_000);
    await settle();
    expect(keys()).toEqual(['a']);
    expect(clock.pending()).toEqual([]);
  });

  test('waits no longer than its limit, and then aborts the run', async () => {
    const { add, run, queue, clock } = makeQueue();
    await add('a');
    const closing = queue.close(5_000);
    clock.advance(4_999);
    expect(run(0).signal.aborted).toBe(false);
    clock.advance(1);
    await closing;
    expect(run(0).signal.aborted).toBe(true);
  });

  test('a run that fails while the queue closes is not retried', async () => {
    const { add, run, queue, clock, errors } = makeQueue();
    await add('a');
    const closing = queue.close();
    await run(0).fail();
    await closing;
    expect(errors).toEqual(['a']);
    expect(clock.pending()).toEqual([]);
  });
});

test('metrics cover the queue and the runs', async () => {
  const reported: (readonly [string, ...unknown[]])[] = [];
  const { add, run, queue, clock, advance } = makeQueue({
    metrics: {
      opened: (name) => reported.push(['opened', name]),
      added: (name) => reported.push(['added', name]),
      retried: (name) => reported.push(['retried', name]),
      started: (name, waitedMs) => reported.push(['started', name, waitedMs]),
      panicked: (name) => reported.push(['panicked', name]),
      ended: (name, tookMs, outcome: RunOutcome) => reported.push(['ended', name, tookMs, outcome]),
    },
  });
  await add('a', 'b');
  clock.advance(70);
  expect(queue.stats()).toEqual({
    depth: 1,
    activeWorkers: 1,
    maxWorkers: 1,
    longestRunMs: 70,
    unfinishedMs: 70,
  });
  await run(0).fail();
  await advance(4);
  await run(1).end({ afterMs: 50 });
  await advance(1);
  await run(2).end();
  expect(reported).toEqual([
    ['opened', 'test'],
    ['added', 'test'],
    ['started', 'test', 0],
    ['added', 'test'],
    ['retried', 'test'],
    ['ended', 'test', 70, 'error'],
    ['started', 'test', 70],
    ['ended', 'test', 4, 'requeue_after'],
    ['added', 'test'],
    ['started', 'test', 0],
    ['ended', 'test', 0, 'success'],
  ]);
});

test.each([
  ['a fault of the program', new TypeError('x is not a function'), 1],
  ['an API server that fails', new Error('no'), 0],
])('%s is counted as a panic, or not', async (_, error, expected) => {
  let panics = 0;
  const none = () => {};
  const clock = makeClock();
  const queue = createQueue({
    name: 'test',
    workers: 1,
    clock,
    random: () => 0,
    run: () => Promise.reject(error),
    onError: none,
    metrics: {
      opened: none,
      added: none,
      retried: none,
      started: none,
      ended: none,
      panicked: () => (panics += 1),
    },
  });
  queue.add('a');
  await settle();
  await queue.close();
  expect(panics).toBe(expected);
});

// The promise of the queue, whatever happens in whatever order: what is added after the beginning of a run of its
// key is looked at by a later run; no two runs of a key overlap; no more runs than workers.
test('no addition is lost and no key is run twice at once', async () => {
  const key = fc.constantFrom('a', 'b', 'c');
  const step = fc.oneof(
    { weight: 4, arbitrary: fc.record({ do: fc.constant('add' as const), key }) },
    {
      weight: 1,
      arbitrary: fc.record({
        do: fc.constant('addAfter' as const),
        key,
        ms: fc.integer({ min: 0, max: 50 }),
      }),
    },
    {
      weight: 4,
      arbitrary: fc.record({ do: fc.constantFrom('end' as const, 'fail' as const), nth: fc.nat(3) }),
    },
    {
      weight: 2,
      arbitrary: fc.record({ do: fc.constant('advance' as const), ms: fc.integer({ min: 1, max: 100 }) }),
    },
  );
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { maxLength: 60 }),
      fc.integer({ min: 1, max: 3 }),
      async (steps, workers) => {
        const clock = makeClock();
        /** Keys with something to be done that no run has begun to look at. */
        const owed = new Set<string>();
        const running: { key: string; settle(ok: boolean): void }[] = [];
        const queue = createQueue({
          name: 'model',
          workers,
          clock,
          random: () => 0,
          run(key) {
            expect(running.map((run) => run.key)).not.toContain(key);
            expect(running.length).toBeLessThan(workers);
            owed.delete(key);
            const { promise, resolve, reject } = Promise.withResolvers<undefined>();
            const run = {
              key,
              settle(ok: boolean) {
                running.splice(running.indexOf(run), 1);
                if (ok) resolve(undefined);
                else {
                  // A failed run has done nothing: it owes the key a run still.
                  owed.add(key);
                  reject(new Error('no'));
                }
              },
            };
            running.push(run);
            return promise;
          },
          onError() {},
        });
        for (const action of steps) {
          switch (action.do) {
            case 'add':
              owed.add(action.key);
              queue.add(action.key);
              break;
            case 'addAfter':
              owed.add(action.key);
              queue.addAfter(action.key, action.ms);
              break;
            case 'advance':
              clock.advance(action.ms);
              break;
            default:
              running[action.nth % Math.max(1, running.length)]?.settle(action.do === 'end');
          }
          await settle();
        }
        for (let turn = 0; turn < 100 && (running.length > 0 || owed.size > 0); turn += 1) {
          running[0]?.settle(true);
          clock.advance(1_000_000);
          await settle();
        }
        expect([...owed]).toEqual([]);
        expect(queue.stats()).toMatchObject({ depth: 0, activeWorkers: 0 });
      },
    ),
  );
});
