// All attempts of one call: what begins must end.

import { describe, expect, test } from 'vitest';
import { Cancellation } from '../../../gateway/stream/cancellation.ts';
import { TimerQueue } from '../../../gateway/stream/timer-queue.ts';
import { makeFakeClock } from '../../support/fake-clock.ts';
import { type PromisedJob, runAttempts } from './run.ts';

const limits = { firstEventMs: null, livenessMs: 1_000, progressMs: 1_000, totalMs: 60_000 };

function jobOf(open: PromisedJob<string>['open']) {
  const log: string[] = [];
  const clock = makeFakeClock();
  const job: PromisedJob<string> = {
    candidates: [{ keyId: 'k', targetId: 't', endpointId: 'e', tier: 0, contextLength: undefined }],
    failover: {
      retryOn: [],
      maxAttempts: 1,
      attemptsPerTarget: 1,
      backoffBaseMs: 1,
      backoffMaxMs: 1,
      honorRetryAfter: true,
    },
    totalAt: 60_000,
    caller: new Cancellation(),
    clock,
    timers: new TimerQueue(clock),
    random: () => 0,
    hasSideEffects: () => false,
    isUsable: () => true,
    isClosed: () => true,
    hasRetryBudget: () => true,
    restMs: () => undefined,
    coolsForMs: () => undefined,
    size: () => ({ input: 0, output: 0 }),
    lastResort: () => undefined,
    limits: () => limits,
    enter: () => true,
    leave() {},
    open,
    renew: () => undefined,
    withhold: () => false,
    onStart: () => log.push('start'),
    onContent: () => log.push('content'),
    onEnd: (_, { outcome }) => log.push(outcome),
  };
  return { job, log };
}

test('an error while a request is built is thrown, and leaves no attempt in flight', async () => {
  const broken = new TypeError('nobody had thought of this');
  const { job, log } = jobOf(() => {
    throw broken;
  });
  await expect(runAttempts(job)).rejects.toBe(broken);
  expect(log.length % 2, log.join()).toBe(0);
});

test('an error while a request is sent ends the attempt', async () => {
  const broken = new TypeError('nobody had thought of this');
  const { job, log } = jobOf(() => ({
    send() {
      throw broken;
    },
    readError: () => ({ message: '', type: null, code: null, param: null, status: null }),
    reader: { type: 'plain', read: () => ({ ok: false, fault: { kind: 'truncated' } }) },
  }));
  expect(await runAttempts(job)).toEqual({
    type: 'failed',
    failures: [{ kind: 'gateway', code: 'internal_error', error: broken }],
    targetsAsked: 1,
  });
  expect(log).toEqual(['start', 'failed']);
});

test('a cooldown that ends while it is checked has ended: the same candidate is tried, not the next', async () => {
  let attempts = 0;
  const { job } = jobOf(() => ({
    send(receiver) {
      const isLimited = attempts++ === 0;
      receiver.onHead(isLimited ? 429 : 200, (name) => (name === 'retry-after-ms' ? '20' : undefined));
      receiver.onEnd();
      return { isSent: true, abort() {}, pause() {}, resume() {} };
    },
    readError: () => ({ message: '', type: null, code: null, param: null, status: null }),
    reader: {
      type: 'plain',
      read: () => ({ ok: true, value: 'whole', usage: undefined, outputEstimate: 1, servedModel: undefined }),
    },
  }));
  const [first, clock] = [0, makeFakeClock()];
  const other = { keyId: 'k2', targetId: 't2', endpointId: 'e2', tier: 1, contextLength: undefined };
  // The timer is a moment early, and by the second question that moment is over.
  let questions = 0;
  const askedAt = () => clock.now() + (clock.now() < 20 ? 0 : 0.01 * ++questions);
  const overAt = 20.015;
  const outcome = runAttempts({
    ...job,
    clock: { ...clock, wallMs: () => 0 },
    candidates: [...job.candidates, other],
    failover: { ...job.failover, maxAttempts: 3, retryOn: ['RateLimited'] },
    isUsable: (candidate) => candidate !== first || attempts === 0 || askedAt() >= overAt,
    restMs: () => {
      const leftMs = overAt - askedAt();
      return leftMs > 0 ? leftMs : undefined;
    },
  });
  await new Promise(setImmediate);
  clock.advance(20);
  expect(await outcome).toMatchObject({ type: 'answered', candidate: first });
});

test('a candidate that fails while its quotas are checked in the store is released', async () => {
  const { job, log } = jobOf(() => {
    throw new Error('it was opened');
  });
  let isUsable = true;
  const outcome = await runAttempts({
    ...job,
    isUsable: () => isUsable,
    enter: () =>
      Promise.resolve().then(() => {
        isUsable = false;
        return true;
      }),
    leave: () => void log.push('leave'),
  });
  expect([outcome, log]).toEqual([{ type: 'failed', failures: [], targetsAsked: 0 }, ['leave']]);
});

test.each([
  ['admitted', true, ['leave']],
  ['refused', false, []],
])(
  'no attempt starts for a client that disconnected while quotas were checked in the store: %s',
  async (_, isLetIn, done) => {
    const { job, log } = jobOf(() => {
      throw new Error('it was opened');
    });
    const caller = new Cancellation();
    let isOut = false;
    const outcome = await runAttempts({
      ...job,
      caller,
      isUsable: () => !isOut,
      enter: () =>
        Promise.resolve().then(() => {
          caller.cancel();
          isOut = !isLetIn;
          return isLetIn;
        }),
      leave: () => {
        isOut = true;
        log.push('leave');
      },
    });
    expect([outcome, log]).toEqual([{ type: 'cancelled' }, done]);
  },
);

describe('an attempt has the timeout of the last one', () => {
  const of = (endpointId: string, targetId: string, contextLength?: number) => ({
    keyId: endpointId,
    targetId,
    endpointId,
    tier: 0,
    contextLength,
  });
  const refused = { kind: 'transport', code: 'connect_refused' } as const;
  const tooLong = { kind: 'status', status: 400 } as const;
  test.each([
    ['without another candidate', [of('a', 'ta'), of('b', 'tb')], refused, [false, true]],
    [
      'where only more of a dead endpoint is left',
      [of('a', 'ta'), of('b', 'tb'), of('a', 'ta2')],
      refused,
      [false, true],
    ],
    [
      'where only a model is left that holds no more',
      [of('a', 'ta', 8), of('b', 'tb', 9), of('c', 'tc', 8)],
      tooLong,
      [false, true],
    ],
    [
      'where only another key of its target is left',
      [of('a', 'ta'), of('b', 'tb'), of('b2', 'tb')],
      refused,
      [false, true],
    ],
    [
      'but not where another target is left',
      [of('a', 'ta'), of('b', 'tb'), of('c', 'tc')],
      refused,
      [false, false, true],
    ],
  ])('%s', async (_, candidates, first, isLast) => {
    const asked: boolean[] = [];
    const { job } = jobOf((candidate) => ({
      send(receiver) {
        if (candidate > 0) receiver.onHead(503, () => undefined);
        else if (first.kind === 'status') receiver.onHead(first.status, () => undefined);
        else receiver.onBreak(first.code, '');
        if (candidate > 0 || first.kind === 'status') receiver.onEnd();
        return { isSent: true, abort() {}, pause() {}, resume() {} };
      },
      readError: () => ({
        message: '',
        type: null,
        code: 'context_length_exceeded',
        param: null,
        status: null,
      }),
      reader: { type: 'plain', read: () => ({ ok: false, fault: { kind: 'truncated' } }) },
    }));
    await runAttempts({
      ...job,
      candidates,
      failover: {
        ...job.failover,
        maxAttempts: 3,
        retryOn: ['ConnectFailure', 'Overloaded', 'ContextLengthExceeded', 'Timeout'],
      },
      hasRetryBudget: () => false,
      limits: (_candidate, reported) => {
        asked.push(reported);
        return limits;
      },
    });
    expect(asked).toEqual(isLast);
  });
});
