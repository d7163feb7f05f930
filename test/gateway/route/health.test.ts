// What has this pod learnt about its upstreams, and whom does a failure concern?

import { describe, expect, test } from 'vitest';
import { Health, type HealthSignal, type Watched } from '../../../gateway/route/health.ts';
import type { Candidate } from '../../../gateway/route/plan.ts';
import { candidatesOf, nameOf, routeOf } from './candidates.ts';

const shared = { provider: 'platform/p', keys: { a: 'A', b: 'B' } };
// Two keys of one provider for one model, and another provider.
const [keyA, keyB, other] = three(candidatesOf([shared, { provider: 'platform/q' }]));

function three(candidates: readonly Candidate[]): [Candidate, Candidate, Candidate] {
  const [first, second, third] = candidates;
  if (!first || !second || !third || candidates.length > 3) throw new Error('three candidates were expected');
  return [first, second, third];
}

/** Another model of the same provider. */
const otherModel: Candidate = {
  ...keyA,
  target: {
    ...keyA.target,
    healthId: `${keyA.target.provider.healthId}#another`,
    entry: { ...keyA.target.entry, upstreamModel: 'another' },
  },
};

const targetFailure: HealthSignal = { type: 'target-failure', cause: 'status_500' };
const endpointFailure: HealthSignal = { type: 'endpoint-failure', cause: 'connect_refused' };

const newHealth = (): Health => new Health(() => 0);

/** One attempt from its beginning to its end, in no time. */
function attempt(health: Health, candidate: Candidate, signal: HealthSignal, nowMs: number): void {
  health.onEnd(health.onStart(candidate, false, nowMs), signal, nowMs);
}

function healthAfter(signal: HealthSignal, times: number, nowMs = 0): Health {
  const health = newHealth();
  for (let n = 0; n < times; n++) {
    attempt(health, keyA, signal, nowMs);
  }
  return health;
}

function usable(health: Health, nowMs: number): string[] {
  return [keyA, keyB, other].filter((candidate) => health.isUsable(candidate, nowMs)).map(nameOf);
}

describe('the recent calls of a target', () => {
  const [model, otherAt] = [keyA.target.entry.upstreamModel, other.target.entry.upstreamModel];
  /** Each call is 100 ms after the one before. */
  const healthOf = (...signals: readonly HealthSignal[]): Health => {
    const health = newHealth();
    for (const [n, signal] of signals.entries()) attempt(health, keyA, signal, n * 100);
    return health;
  };
  const of = (signal: HealthSignal, times: number): HealthSignal[] => Array(times).fill(signal);
  const success: HealthSignal = { type: 'success' };
  const limited: HealthSignal = {
    type: 'key-cooldown',
    forMs: 1_000,
    reason: 'rate-limit',
    cause: 'status_429',
  };
  const rejected: HealthSignal = { ...limited, reason: 'rejected', cause: 'status_401' };
  const denied: HealthSignal = { type: 'denied', cause: 'status_403' };

  test.each<[string, HealthSignal[], object | undefined]>([
    [
      'fail with the first of them, where none was answered',
      [endpointFailure],
      { state: 'failing', calls: 1, failed: 1, cause: 'connect_refused', sinceMs: 1_000 },
    ],
    [
      'fail since the first of all failures in a row, for the cause of the last',
      [success, success, endpointFailure, ...of(targetFailure, 4)],
      { state: 'failing', calls: 7, failed: 5, cause: 'status_500', sinceMs: 1_200 },
    ],
    ['are fine with few failures', [success, ...of(targetFailure, 4)], { state: 'answering', failed: 4 }],
    [
      'fail partly, where one in ten does',
      [...of(success, 36), ...of(targetFailure, 4), ...of(success, 5), targetFailure],
      { state: 'partly', calls: 46, failed: 5, cause: 'status_500', sinceMs: 5_500 },
    ],
    [
      'fail, where every one meets a rate limit',
      of(limited, 2),
      { state: 'failing', calls: 2, failed: 2, cause: 'status_429' },
    ],
    ['are fine, where some meet one', [success, ...of(limited, 9)], { state: 'answering' }],
    [
      'fail, where every one is denied',
      of(denied, 2),
      { state: 'failing', calls: 2, failed: 2, cause: 'status_403' },
    ],
    ['are fine, where some are denied', [success, ...of(denied, 9)], { state: 'answering' }],
    ['fail, where the keys are rejected', [rejected], { state: 'failing', cause: 'status_401' }],
    ['are fine again with the first answer', [...of(targetFailure, 4), success], { state: 'answering' }],
    ["do not count for a caller's mistake", of({ type: 'none' }, 9), undefined],
  ])('%s', (_, signals, line) => {
    const health = healthOf(...signals);
    const lines = health.targetCalls(signals.length * 100, 1_000);
    expect(lines).toHaveLength(line === undefined ? 0 : 1);
    if (line !== undefined)
      expect(lines[0]).toMatchObject({ provider: 'platform/p', upstreamModel: model, ...line });
  });

  test('count as failed, where a stream breaks off', () => {
    const health = newHealth();
    const watched = health.onStart(keyA, false, 0);
    health.onContent(watched, 1);
    expect(health.targetCalls(1, 0)).toMatchObject([{ state: 'answering', calls: 1, failed: 0 }]);
    health.onEnd(watched, targetFailure, 2);
    expect(health.targetCalls(2, 0)).toMatchObject([{ state: 'failing', calls: 1, failed: 1 }]);
  });

  test('are news when state or cause change, and not with each call', () => {
    const health = newHealth();
    const said = (): number => health.revision(0);
    const first = said();
    attempt(health, other, success, 0);
    attempt(health, keyA, { type: 'misconfigured', cause: 'status_404' }, 0);
    const failing = said();
    expect(failing).not.toBe(first);
    attempt(health, keyA, { type: 'misconfigured', cause: 'status_404' }, 0);
    attempt(health, other, success, 0);
    expect(said()).toBe(failing);
    attempt(health, keyA, { type: 'target-failure', cause: 'status_503', mayBeCallers: true }, 0);
    expect(said()).not.toBe(failing);
    expect(health.targetCalls(0, 0).map(({ upstreamModel, state }) => [upstreamModel, state])).toEqual([
      [model, 'failing'],
      [otherAt, 'answering'],
    ]);
  });

  test('are forgotten after ten minutes, and with their target', () => {
    const health = healthOf(targetFailure);
    const reported = health.revision(1);
    health.revision(300_001);
    expect(health.targetCalls(300_001, 0)).toHaveLength(1);
    expect(health.revision(600_001)).not.toBe(reported);
    expect(health.targetCalls(600_001, 0)).toEqual([]);
    const gone = healthOf(targetFailure);
    gone.adopt({ routes: [routeOf([{ provider: 'platform/q' }])] });
    expect(gone.targetCalls(1, 0)).toEqual([]);
  });
});

test('at first every target is usable', () => {
  expect(usable(newHealth(), 0)).toEqual(['t0/a', 't0/b', 't1']);
});

describe('a key in cooldown', () => {
  const health = healthAfter({ type: 'key-cooldown', forMs: 2_000, reason: 'rate-limit' }, 1);
  test('is skipped until its cooldown ends; other keys are not', () => {
    expect(usable(health, 1_999)).toEqual(['t0/b', 't1']);
    expect(usable(health, 2_000)).toEqual(['t0/a', 't0/b', 't1']);
  });
  describe('whose cooldown has ended', () => {
    const rested = (reason: 'rate-limit' | 'out-of-money' | 'rejected'): Health =>
      healthAfter({ type: 'key-cooldown', forMs: 2_000, reason }, 1);
    const reasons = ['rate-limit', 'out-of-money', 'rejected'] as const;

    test.each(reasons)('(%s) gets one trial at a time, until one is answered', (reason) => {
      const again = rested(reason);
      for (const signal of [{ type: 'none' }, targetFailure] satisfies HealthSignal[]) {
        const trial = again.onStart(keyA, false, 2_000);
        expect(usable(again, 2_000)).toEqual(['t0/b', 't1']);
        expect(again.cooldownReason(keyA, 2_000)).toBe(reason);
        again.onEnd(trial, signal, 2_000);
        expect(again.isUsable(keyA, 2_000), 'no verdict: the next may try').toBe(true);
      }
      const trial = again.onStart(keyA, false, 2_100);
      again.onContent(trial, 2_200);
      expect(again.isUsable(keyA, 2_200)).toBe(true);
      again.onStart(keyA, false, 2_200);
      expect(again.isUsable(keyA, 2_200), 'no trial any more').toBe(true);
    });

    test('cools down again when it is rejected again', () => {
      const again = rested('rejected');
      again.onEnd(
        again.onStart(keyA, false, 2_000),
        { type: 'key-cooldown', forMs: 9_000, reason: 'rejected' },
        2_000,
      );
      expect(again.isUsable(keyA, 10_999)).toBe(false);
      expect(again.isUsable(keyA, 11_000)).toBe(true);
    });

    test('is not restored by the answer to an earlier call', () => {
      const again = newHealth();
      const early = again.onStart(keyA, false, 0);
      attempt(again, keyA, { type: 'key-cooldown', forMs: 2_000, reason: 'rejected' }, 0);
      again.onContent(early, 2_000);
      again.onStart(keyA, false, 2_000);
      expect(again.isUsable(keyA, 2_000)).toBe(false);
    });

    test('works again after five seconds without a refusal', () => {
      const again = rested('rejected');
      again.onStart(keyA, false, 2_000);
      expect(again.isUsable(keyA, 6_999)).toBe(false);
      expect(again.restMs(keyA, 6_999)).toBe(200);
      expect(again.isUsable(keyA, 7_000)).toBe(true);
      again.onStart(keyA, false, 7_000);
      expect(again.isUsable(keyA, 7_000)).toBe(true);
    });

    test.each([
      ['rate-limit', true],
      ['out-of-money', false],
      ['rejected', false],
    ] as const)('long ago (%s) starts afresh: %s', (reason, isForgotten) => {
      const again = rested(reason);
      again.revision(1e6);
      again.onStart(keyA, false, 1e6);
      expect(again.isUsable(keyA, 1e6)).toBe(isForgotten);
    });
  });

  describe('that is refused by several calls at once', () => {
    const limited: HealthSignal = { type: 'key-cooldown', forMs: 1_000, reason: 'rate-limit' };
    const broke: HealthSignal = { type: 'key-cooldown', forMs: 300_000, reason: 'out-of-money' };
    const rejected: HealthSignal = { type: 'key-cooldown', forMs: 60_000, reason: 'rejected' };

    test.each([
      ['no money, then a rate limit', [broke, limited], 300_000, 'out-of-money'],
      ['a rate limit, then no money', [limited, broke], 300_000, 'out-of-money'],
      ['no money, then not valid', [broke, rejected], 300_000, 'rejected'],
      ['not valid, then no money', [rejected, broke], 300_000, 'rejected'],
      ['a long rate limit, then a short one', [{ ...limited, forMs: 9_000 }, limited], 9_000, 'rate-limit'],
    ] as const)(
      '(%s) cools down for the longer time and the graver reason',
      (_, signals, untilMs, reason) => {
        const health = newHealth();
        const together = signals.map((signal) => ({ signal, watched: health.onStart(keyA, false, 0) }));
        for (const { signal, watched } of together) health.onEnd(watched, signal, 0);
        expect(health.cooldownReason(keyA, 0)).toBe(reason);
        expect(health.restMs(keyA, 0)).toBe(untilMs);
      },
    );

    test('does not cool down for a call that began before others were answered', () => {
      const health = newHealth();
      const late = health.onStart(keyA, false, 0);
      const answered = health.onStart(keyA, false, 5);
      health.onContent(answered, 10);
      health.onEnd(late, limited, 8_000);
      expect(health.cooldownReason(keyA, 8_000)).toBeUndefined();
      // What began with the answered one, or behind it, is heard.
      health.onEnd(answered, limited, 8_000);
      expect(health.cooldownReason(keyA, 8_000)).toBe('rate-limit');
    });
  });

  describe('that has just answered others', () => {
    const limited = (forMs = 20_000): HealthSignal => ({ type: 'key-cooldown', forMs, reason: 'rate-limit' });
    const as = (health: Health, caller: string, signal: HealthSignal, nowMs: number): void =>
      health.onEnd(health.onStart(keyA, false, nowMs, caller), signal, nowMs);
    const answered = (): Health => {
      const health = newHealth();
      as(health, 'good', { type: 'success' }, 0);
      return health;
    };

    test('cools down for a second, and others need no trial', () => {
      const health = answered();
      as(health, 'one', limited(), 999);
      expect(health.restMs(keyA, 999)).toBe(1_000);
      health.onStart(keyA, false, 1_999);
      expect(health.isUsable(keyA, 1_999)).toBe(true);
    });

    test('cools down no longer if the same caller is limited again, and twice as long for each further caller', () => {
      const health = answered();
      const restAfter = (caller: string, nowMs: number): number | undefined => {
        as(health, caller, limited(5_000), nowMs);
        return health.restMs(keyA, nowMs);
      };
      expect(restAfter('one', 100)).toBe(1_000);
      expect(restAfter('one', 1_100)).toBe(1_000);
      as(health, 'good', { type: 'success' }, 2_100);
      expect(restAfter('one', 2_150)).toBe(1_000);
      expect(restAfter('two', 2_200)).toBe(2_000);
      expect(restAfter('three', 2_300)).toBe(4_000);
      expect(restAfter('four', 2_400), 'as long as it was reported').toBe(5_000);
    });

    test('cools down as announced if no caller was answered since', () => {
      const health = answered();
      as(health, 'one', limited(), 100);
      as(health, 'two', limited(), 1_100);
      as(health, 'three', limited(), 5_000);
      expect(health.restMs(keyA, 5_000)).toBe(20_000);
    });

    test('cools down no longer than announced', () => {
      const health = answered();
      as(health, 'one', limited(300), 100);
      expect(health.restMs(keyA, 100)).toBe(300);
    });

    test.each(['rejected', 'out-of-money'] as const)('cools down as usual when it is %s', (reason) => {
      const health = answered();
      as(health, 'one', { type: 'key-cooldown', forMs: 60_000, reason }, 100);
      expect(health.restMs(keyA, 100)).toBe(60_000);
    });
  });

  describe('without an announced wait', () => {
    const own: HealthSignal = { type: 'key-cooldown', forMs: 20_000, reason: 'rate-limit', isOwnRule: true };

    test('cools down for a second, and twice as long each time, until it is answered', () => {
      const health = newHealth();
      const waits: (number | undefined)[] = [];
      let nowMs = 0;
      for (let n = 0; n < 6; n++) {
        attempt(health, keyA, own, nowMs);
        waits.push(health.restMs(keyA, nowMs));
        nowMs += (waits.at(-1) ?? 0) + 10;
      }
      expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 20_000]);
      attempt(health, keyA, { type: 'success' }, nowMs);
      attempt(health, keyA, own, nowMs + 1_001);
      expect(health.restMs(keyA, nowMs + 1_001)).toBe(1_000);
    });

    test('counts calls that ran together as one', () => {
      const health = newHealth();
      const together = [1, 2, 3].map(() => health.onStart(keyA, false, 0));
      for (const watched of together) health.onEnd(watched, own, 5);
      expect(health.restMs(keyA, 5)).toBe(1_000);
    });

    test('starts afresh after half a minute', () => {
      const health = newHealth();
      attempt(health, keyA, own, 0);
      attempt(health, keyA, own, 31_000);
      expect(health.restMs(keyA, 31_000)).toBe(1_000);
    });
  });

  describe('for one model', () => {
    const limited: HealthSignal = { type: 'key-cooldown', forMs: 9_000, reason: 'rate-limit' };

    test('serves other models, and reports the cooldown with its model', () => {
      const health = newHealth();
      attempt(health, otherModel, { type: 'success' }, 0);
      attempt(health, keyA, limited, 0);
      expect([health.isUsable(keyA, 1), health.isUsable(otherModel, 1)]).toEqual([false, true]);
      expect([health.restsForModel(keyA, 1), health.cooldownReason(otherModel, 1)]).toEqual([
        true,
        undefined,
      ]);
      const { upstreamModel } = keyA.target.entry;
      const key = { provider: 'platform/p', key: 'a' };
      expect(health.coolingKeys(0)).toEqual([{ ...key, upstreamModel, reason: 'rate-limit', forMs: 9_000 }]);
      expect(health.report(0, 0)).toEqual([
        { ...key, upstreamModel, state: 'rate-limited', untilMs: 9_000 },
        { ...key, state: 'working' },
      ]);
    });

    test('cools down for all models if a second model is limited at the same time, and not if that is later', () => {
      const soon = newHealth();
      attempt(soon, keyA, limited, 0);
      attempt(soon, otherModel, limited, 8_999);
      expect(soon.coolingKeys(8_999)).toContainEqual({
        ...{ provider: 'platform/p', key: 'a', reason: 'rate-limit', forMs: 9_000 },
      });
      const later = newHealth();
      attempt(later, keyA, limited, 0);
      attempt(later, otherModel, limited, 9_000);
      expect(later.isUsable(keyA, 9_000)).toBe(true);
    });

    test('cools down for all models if the account is limited', () => {
      const health = healthAfter({ ...limited, isAccount: true }, 1);
      expect([health.isUsable(otherModel, 1), health.restsForModel(keyA, 1)]).toEqual([false, false]);
      expect(health.usableInMs([otherModel], 1_000)).toBe(8_000);
    });

    test('has its own trial', () => {
      const health = newHealth();
      attempt(health, keyA, limited, 0);
      health.onStart(keyA, false, 9_000);
      expect([health.isUsable(keyA, 9_001), health.isUsable(otherModel, 9_001)]).toEqual([false, true]);
      expect(
        health.coolsForMs(keyA, 9_001, false),
        'only a request that waited for it waits for that',
      ).toBeUndefined();
      expect(health.coolsForMs(keyA, 9_001, true)).toBe(200);
    });
  });

  test('reports when it may be used again', () => {
    expect(health.usableInMs([keyA], 500)).toBe(1_500);
    expect(health.usableInMs([keyA, keyB], 500)).toBe(0);
    expect(health.usableInMs([], 500)).toBe(0);
  });
});

describe('the breaker', () => {
  test('of a model covers all keys of the provider, and no other model', () => {
    const health = healthAfter(targetFailure, 5);
    expect(usable(health, 0)).toEqual(['t1']);
    expect(health.isUsable(otherModel, 0)).toBe(true);
  });

  test('of an endpoint covers all its models', () => {
    const health = healthAfter(endpointFailure, 5);
    expect(usable(health, 0)).toEqual(['t1']);
    expect(health.isUsable(otherModel, 0)).toBe(false);
  });

  test('opens after five failures in a row: a success resets the count', () => {
    const health = healthAfter(targetFailure, 4);
    attempt(health, keyB, { type: 'success' }, 0);
    attempt(health, keyA, targetFailure, 0);
    expect(usable(health, 0)).toEqual(['t0/a', 't0/b', 't1']);
  });

  test('ignores errors of callers, and cancelled calls', () => {
    expect(usable(healthAfter({ type: 'none' }, 50), 0)).toEqual(['t0/a', 't0/b', 't1']);
  });

  test('admits one trial when its time is up, and closes with the second success', () => {
    const health = healthAfter(targetFailure, 5);
    expect(usable(health, 4_999)).toEqual(['t1']);
    expect(usable(health, 5_000)).toEqual(['t0/a', 't0/b', 't1']);
    const first = health.onStart(keyA, false, 5_000);
    expect(usable(health, 5_000)).toEqual(['t1']);
    health.onEnd(first, { type: 'success' }, 5_100);
    expect(usable(health, 5_100)).toEqual(['t0/a', 't0/b', 't1']);
    expect(health.isClosed(keyA, 5_100)).toBe(false);
    attempt(health, keyB, { type: 'success' }, 5_200);
    expect(health.isClosed(keyA, 5_200)).toBe(true);
  });

  test('gives a closed target a growing part of its calls', () => {
    const health = healthAfter(endpointFailure, 5);
    expect(health.shareOf(keyA.target, 0)).toBe(1);
    for (const nowMs of [5_000, 5_100]) attempt(health, keyA, { type: 'success' }, nowMs);
    expect(health.shareOf(keyA.target, 5_100)).toBeCloseTo(0.1);
    expect(health.shareOf(otherModel.target, 20_100)).toBeCloseTo(0.55);
    expect(health.shareOf(other.target, 5_100)).toBe(1);
    expect(health.shareOf(keyA.target, 35_100)).toBe(1);
  });

  test('opens after three streams in a row that broke off after their content', () => {
    const health = newHealth();
    for (const [n, end] of ['broken', 'broken', 'success', 'broken'].entries()) {
      const watched = health.onStart(keyA, false, n);
      health.onContent(watched, n);
      const signal: HealthSignal =
        end === 'success' ? { type: end } : { type: 'target-failure', cause: 'truncated' };
      health.onEnd(watched, signal, n);
      expect(health.isUsable(keyA, n)).toBe(true);
    }
    for (const nowMs of [10, 11]) {
      const watched = health.onStart(keyA, false, nowMs);
      health.onContent(watched, nowMs);
      health.onEnd(watched, { type: 'target-failure', cause: 'truncated' }, nowMs);
    }
    expect(health.isUsable(keyA, 11)).toBe(false);
  });

  test('opens for longer when the trial fails', () => {
    const health = healthAfter(targetFailure, 5);
    attempt(health, keyA, targetFailure, 5_000);
    expect([usable(health, 14_999), usable(health, 15_000)]).toEqual([['t1'], ['t0/a', 't0/b', 't1']]);
    expect(health.usableInMs([keyA, keyB], 6_000)).toBe(9_000);
  });
});

describe('a trial of a half-open breaker', () => {
  const opened = (): { readonly health: Health; readonly trial: Watched } => {
    const health = healthAfter(targetFailure, 5);
    return { health, trial: health.onStart(keyA, false, 5_000) };
  };

  test('admits the next with its first content; its end does not count again', () => {
    const { health, trial } = opened();
    health.onContent(trial, 5_010);
    expect(health.isUsable(keyB, 5_020)).toBe(true);
    health.onEnd(trial, { type: 'success' }, 5_030);
    expect(health.isClosed(keyA, 5_030)).toBe(false);
    const second = health.onStart(keyB, false, 5_040);
    const revision = health.revision(5_040);
    health.onContent(second, 5_050);
    expect(health.isClosed(keyA, 5_050)).toBe(true);
    expect(health.report(5_050, 0).filter(({ state }) => state === 'open')).toEqual([]);
    expect(health.revision(5_050)).not.toBe(revision);
  });

  test('is wanted where a verdict is missing, and not for other targets', () => {
    const health = healthAfter(targetFailure, 5);
    expect([4_999, 5_000].map((nowMs) => health.awaitsTrial(keyA, nowMs))).toEqual([false, true]);
    expect(health.awaitsTrial(other, 5_000)).toBe(false);
    const rested = healthAfter({ type: 'key-cooldown', forMs: 1_000, reason: 'rejected' }, 1);
    expect([999, 1_000].map((nowMs) => rested.awaitsTrial(keyA, nowMs))).toEqual([false, true]);
    expect(rested.awaitsTrial(keyB, 1_000)).toBe(false);
    for (const nowMs of [5_000, 5_001]) attempt(health, keyA, { type: 'success' }, nowMs);
    expect(health.awaitsTrial(keyA, 5_001)).toBe(false);
  });

  test('keeps other calls out while it is in flight', () => {
    expect(opened().health.isUsable(keyA, 5_001)).toBe(false);
  });

  test.each<HealthSignal>([
    { type: 'none' },
    { type: 'misconfigured' },
    { type: 'key-cooldown', forMs: 1, reason: 'rate-limit' },
  ])('that ends with $type, which says nothing about health, admits another', (signal) => {
    const { health, trial } = opened();
    health.onEnd(trial, signal, 5_010);
    expect(health.isUsable(keyA, 5_020)).toBe(true);
  });
});

describe('when all are out of service', () => {
  const all = [keyA, keyB, other];
  const dead = (): Health => {
    const health = healthAfter(targetFailure, 5);
    for (let n = 0; n < 5; n++) attempt(health, other, endpointFailure, 1_000);
    return health;
  };

  test('the one with the soonest trial is tried, once a second', () => {
    const health = dead();
    expect(health.lastResort(all, 1_000)).toBe(0);
    attempt(health, keyA, targetFailure, 1_000);
    expect([1_001, 1_999, 2_000].map((nowMs) => health.lastResort(all, nowMs))).toEqual([
      undefined,
      undefined,
      0,
    ]);
  });

  test('an answer of it restores it before its time', () => {
    const health = dead();
    attempt(health, keyA, { type: 'success' }, 1_500);
    expect(usable(health, 1_500)).toEqual(['t0/a', 't0/b']);
  });

  test('a target that is skipped for another reason is not the last resort', () => {
    const health = dead();
    expect(health.lastResort(all, 2_000, (position) => position === 0)).toBe(1);
    expect(health.lastResort(all, 2_000, () => true)).toBeUndefined();
  });

  test('a key in cooldown is no last resort, nor is a key with a trial in flight', () => {
    const health = dead();
    attempt(health, keyA, { type: 'key-cooldown', forMs: 9_000, reason: 'rejected' }, 1_000);
    expect(health.lastResort(all, 2_000)).toBe(1);
    expect(health.lastResort([keyA], 2_000)).toBeUndefined();
    health.onStart(keyB, false, 5_000);
    expect(health.lastResort(all, 5_001)).toBe(2);
  });
});

describe('attempts in flight', () => {
  test('are counted for the target and for the key, until they end', () => {
    const health = newHealth();
    const counts = (): number[] =>
      [keyA.target.healthId, keyA.endpoint.healthId, keyB.endpoint.healthId].map((id) => health.inFlight(id));
    const [first, second] = [health.onStart(keyA, false, 0), health.onStart(keyB, false, 0)];
    expect(counts()).toEqual([2, 1, 1]);
    health.onEnd(first, { type: 'success' }, 1);
    health.onEnd(second, { type: 'none' }, 1);
    expect(counts()).toEqual([0, 0, 0]);
  });
});

test('three repetitions at a target are free; more are a tenth of its requests in ten seconds', () => {
  const health = newHealth();
  const repeat = (nowMs: number): void =>
    health.onEnd(health.onStart(keyA, true, nowMs), { type: 'none' }, nowMs);
  for (let n = 0; n < 3; n++) {
    expect(health.hasBudget(keyB, 0)).toBe(true);
    repeat(0);
  }
  expect(health.hasBudget(keyB, 0)).toBe(false);
  expect(health.hasBudget(other, 0)).toBe(true);
  for (let n = 0; n < 31; n++) attempt(health, keyA, { type: 'none' }, 1);
  expect(health.hasBudget(keyB, 1)).toBe(true);
  repeat(1);
  expect(health.hasBudget(keyB, 1)).toBe(false);
  expect(health.hasBudget(keyB, 10_001)).toBe(true);
});

test('a model that its provider does not know is reported, until it is served', () => {
  const health = healthAfter({ type: 'misconfigured' }, 1);
  const [{ upstreamModel = '' } = {}] = health.misconfiguredTargets();
  expect(upstreamModel).toBe(keyA.target.entry.upstreamModel);
  expect(health.isUsable(keyA, 0)).toBe(true);
  const before = health.revision(1);
  attempt(health, keyB, { type: 'success' }, 1);
  expect(health.misconfiguredTargets()).toEqual([]);
  expect(health.revision(1)).not.toBe(before);
  attempt(health, keyA, { type: 'misconfigured' }, 2);
  health.revision(600_002);
  expect(health.misconfiguredTargets()).toEqual([]);
});

test('a success of an earlier request does not end the cooldown of a key', () => {
  const health = healthAfter({ type: 'key-cooldown', forMs: 9_000, reason: 'rate-limit' }, 1);
  attempt(health, keyA, { type: 'success' }, 20);
  expect(health.isUsable(keyA, 30)).toBe(false);
  expect(health.cooldownReason(keyA, 30)).toBe('rate-limit');
});

describe('a report', () => {
  const offsetMs = 1_000_000;
  const reportAt = (health: Health, nowMs: number) => health.report(nowMs, offsetMs);

  test('is empty before anything has happened', () => {
    expect(reportAt(newHealth(), 0)).toEqual([]);
  });

  test('says of a key that it works once it has answered', () => {
    const health = newHealth();
    attempt(health, keyA, { type: 'none' }, 0);
    expect(reportAt(health, 0)).toEqual([]);
    attempt(health, keyA, { type: 'success' }, 0);
    attempt(health, other, { type: 'success' }, 0);
    expect(reportAt(health, 0)).toEqual([
      { provider: 'platform/p', key: 'a', state: 'working' },
      { provider: 'platform/q', state: 'working' },
    ]);
  });

  test.each([
    ['rate-limit', 'rate-limited'],
    ['out-of-money', 'out-of-money'],
    ['rejected', 'rejected'],
  ] as const)('reports a key in cooldown for %s as %s, with the end, and not as working', (reason, state) => {
    const health = healthAfter({ type: 'success' }, 1);
    attempt(health, keyA, { type: 'key-cooldown', forMs: 2_000, reason }, 500);
    const ofModel = reason === 'rate-limit' ? { upstreamModel: keyA.target.entry.upstreamModel } : {};
    const line = { provider: 'platform/p', key: 'a', ...ofModel, state, untilMs: offsetMs + 2_500 };
    expect(reportAt(health, 2_499)).toEqual([line]);
    expect(usable(health, 2_500)).toContain('t0/a');
    const isOver = reason === 'rate-limit';
    expect(reportAt(health, 2_500), 'it has not answered since').toEqual(isOver ? [] : [line]);
  });

  describe('keeps what it reported of a key that needs a person', () => {
    const broke: HealthSignal = { type: 'key-cooldown', forMs: 2_000, reason: 'out-of-money' };
    const statesAt = (health: Health, nowMs: number) => reportAt(health, nowMs).map(({ state }) => state);

    test('also during a trial, until one is answered', () => {
      const health = healthAfter(broke, 1);
      const trial = health.onStart(keyA, false, 2_100);
      expect(statesAt(health, 2_200)).toEqual(['out-of-money']);
      health.onEnd(trial, broke, 2_300);
      expect(reportAt(health, 2_300)).toMatchObject([{ state: 'out-of-money', untilMs: offsetMs + 4_300 }]);
      attempt(health, keyA, { type: 'success' }, 4_400);
      expect(statesAt(health, 4_400)).toEqual(['working']);
    });

    test('for ten minutes without a trial, and no longer', () => {
      const health = healthAfter(broke, 1);
      const reported = health.revision(600_000);
      expect(statesAt(health, 601_999)).toEqual(['out-of-money']);
      expect(health.revision(602_000)).not.toBe(reported);
      expect(statesAt(health, 602_000)).toEqual([]);
    });
  });

  test('names the model and provider that are cut off, or the provider as a whole', () => {
    const model = healthAfter(targetFailure, 5);
    attempt(model, keyB, { type: 'success' }, 0);
    expect(reportAt(healthAfter(targetFailure, 4), 0)).toEqual([]);
    expect(reportAt(healthAfter(targetFailure, 5), 0)).toEqual([
      {
        provider: 'platform/p',
        upstreamModel: expect.any(String),
        state: 'open',
        cause: 'status_500',
        untilMs: offsetMs + 5_000,
      },
    ]);
    const whole = healthAfter({ type: 'success' }, 1);
    for (let n = 0; n < 5; n++) attempt(whole, keyA, endpointFailure, 0);
    expect(reportAt(whole, 0)).toEqual([
      { provider: 'platform/p', state: 'open', cause: 'connect_refused', untilMs: offsetMs + 5_000 },
    ]);
  });

  test('says whether a breaker is half-open, and whether a closed one is in slow start', () => {
    const health = healthAfter(endpointFailure, 5);
    expect(reportAt(health, 5_000)).toMatchObject([{ state: 'open', phase: 'half-open' }]);
    for (const nowMs of [5_000, 5_001]) attempt(health, keyA, { type: 'success' }, nowMs);
    expect(reportAt(health, 5_001)[0]).toEqual({
      provider: 'platform/p',
      state: 'working',
      phase: 'slow-start',
    });
    expect(reportAt(health, 35_001)).toEqual([{ provider: 'platform/p', key: 'a', state: 'working' }]);
  });

  test('forgets a breaker ten minutes after its time without a trial, and not before', () => {
    const health = healthAfter(targetFailure, 5);
    expect(reportAt(health, 604_999)).toMatchObject([{ state: 'open', phase: 'half-open' }]);
    const before = health.revision(604_999);
    expect(health.revision(605_000)).not.toBe(before);
    expect([reportAt(health, 605_000), health.breakers(605_000)]).toEqual([[], []]);
  });

  test('forgets failures after ten minutes without a call', () => {
    const health = healthAfter(targetFailure, 4, 20_000);
    health.revision(619_999);
    const later = healthAfter(targetFailure, 4, 20_000);
    later.revision(620_000);
    for (const each of [health, later]) attempt(each, keyA, targetFailure, 620_000);
    expect([health, later].map((each) => each.breakers(620_000).length)).toEqual([1, 0]);
  });

  test('forgets keys that have not answered for long', () => {
    const health = healthAfter({ type: 'success' }, 1);
    const working = reportAt(health, 0);
    health.revision(600_000);
    expect(reportAt(health, 600_000)).toEqual(working);
    health.revision(1_200_000);
    expect(reportAt(health, 1_200_000)).toEqual([]);
  });

  test('is at most a thousand lines long', () => {
    const health = newHealth();
    for (let n = 0; n < 1_500; n++) {
      attempt(
        health,
        { ...keyA, endpoint: { ...keyA.endpoint, healthId: `id-${n}` } },
        { type: 'success' },
        0,
      );
    }
    expect(reportAt(health, 0)).toHaveLength(1_000);
  });
});

describe('the revision', () => {
  const changed = (health: Health, nowMs: number, act: () => void): boolean => {
    const before = health.revision(nowMs);
    act();
    return health.revision(nowMs) !== before;
  };

  test('changes with the first answer, and not with the thousand after it', () => {
    const health = newHealth();
    const succeed = (): void => attempt(health, keyA, { type: 'success' }, 0);
    expect(changed(health, 0, succeed)).toBe(true);
    expect(changed(health, 0, succeed)).toBe(false);
    // Nor when the span of time is another.
    expect(health.revision(300_000)).toBe(health.revision(0));
    expect(changed(health, 300_000, succeed)).toBe(false);
  });

  test('changes when a breaker opens, opens again and closes, and with its phases', () => {
    const health = healthAfter(targetFailure, 4);
    const succeed = (): void => attempt(health, keyA, { type: 'success' }, 20_000);
    expect(changed(health, 0, () => attempt(health, keyA, targetFailure, 0))).toBe(true);
    expect(changed(health, 5_000, () => attempt(health, keyA, targetFailure, 5_000))).toBe(true);
    expect(health.revision(14_999)).not.toBe(health.revision(15_000));
    expect(changed(health, 20_000, () => [succeed(), succeed()])).toBe(true);
    expect(health.revision(49_999)).not.toBe(health.revision(50_000));
  });

  test('changes when the cooldown of a key begins, and when it ends', () => {
    const health = newHealth();
    const rest: HealthSignal = { type: 'key-cooldown', forMs: 100, reason: 'rate-limit' };
    expect(changed(health, 0, () => attempt(health, keyA, rest, 0))).toBe(true);
    const resting = health.revision(99);
    expect(health.revision(100)).not.toBe(resting);
    expect(usable(health, 100)).toEqual(['t0/a', 't0/b', 't1']);
  });
});

describe('another table', () => {
  const viewOf = (keys: Readonly<Record<string, string>>, providerEntry = {}) =>
    ({ routes: [routeOf([{ ...shared, keys, providerEntry }, { provider: 'platform/q' }])] }) as const;
  const rejected: HealthSignal = { type: 'key-cooldown', forMs: 60_000, reason: 'rejected' };

  test('with the same credential keeps the state of a rejected key', () => {
    const health = healthAfter(rejected, 1);
    health.adopt(viewOf({ a: 'A', b: 'other' }));
    expect(usable(health, 1)).toEqual(['t0/b', 't1']);
  });

  test('with another credential ends the cooldown, and the report of it', () => {
    const health = healthAfter(rejected, 1);
    const before = health.revision(1);
    health.adopt(viewOf({ a: 'next', b: 'B' }));
    expect(usable(health, 1)).toEqual(['t0/a', 't0/b', 't1']);
    expect(health.revision(1)).not.toBe(before);
    expect(health.report(1, 0)).toEqual([]);
  });

  test('an answer with a former credential does not restore the key after the new one is rejected', () => {
    const health = healthAfter({ type: 'success' }, 1);
    const [renewed] = candidatesOf([{ ...shared, keys: { a: 'next', b: 'B' } }]);
    if (!renewed) throw new Error('there is a candidate');
    attempt(health, renewed, rejected, 1);
    expect(health.report(1, 0)).toEqual([
      { provider: 'platform/p', key: 'a', state: 'rejected', untilMs: 60_001 },
    ]);
  });

  test('a late refusal of a former credential does not affect the present one', () => {
    const health = newHealth();
    const late = health.onStart(keyA, false, 0);
    health.adopt(viewOf({ a: 'next', b: 'B' }));
    health.onEnd(late, rejected, 1);
    expect(health.report(1, 0)).toEqual([]);
  });

  describe('with another address', () => {
    const moved = { baseUrl: 'http://127.0.0.1:9000/v2' };
    const [next] = candidatesOf([{ ...shared, providerEntry: moved }]);
    if (!next) throw new Error('there is a candidate');

    test.each<[string, HealthSignal]>([
      ['a model that failed', targetFailure],
      ['an address that failed', endpointFailure],
      ['a key that was refused', rejected],
      ['a model that was unknown', { type: 'misconfigured' }],
      ['what answered', { type: 'success' }],
    ])('%s starts afresh, and is no longer reported', (_, signal) => {
      const health = healthAfter(signal, 5);
      const before = health.revision(1);
      health.adopt(viewOf(shared.keys, moved));
      expect([health.isUsable(next, 1), health.shareOf(next.target, 1)]).toEqual([true, 1]);
      expect([health.report(1, 0), health.breakers(1), health.misconfiguredTargets()]).toEqual([[], [], []]);
      expect(health.revision(1)).not.toBe(before);
    });

    test.each<[string, HealthSignal]>([
      ['fail', targetFailure],
      ['cannot connect', endpointFailure],
      ['are refused', rejected],
      ['find no such model', { type: 'misconfigured' }],
      ['are answered', { type: 'success' }],
    ])('late calls to the old one that %s do not affect it', (_, signal) => {
      const health = newHealth();
      const late = Array.from({ length: 5 }, () => health.onStart(keyA, false, 0));
      health.adopt(viewOf(shared.keys, moved));
      for (const watched of late) health.onEnd(watched, signal, 1);
      expect(health.isUsable(next, 1)).toBe(true);
      expect([health.report(1, 0), health.misconfiguredTargets()]).toEqual([[], []]);
      expect(health.inFlight(keyA.target.healthId)).toBe(0);
    });

    test('changes nothing of a Provider with the same address', () => {
      const health = newHealth();
      for (let n = 0; n < 5; n++) attempt(health, other, endpointFailure, 0);
      const before = health.revision(1);
      health.adopt(viewOf(shared.keys, moved));
      expect([health.isUsable(other, 1), health.revision(1)]).toEqual([false, before]);
    });
  });

  describe('that switches the breaker off', () => {
    const off = {
      breaker: { consecutiveFailures: 0, openForMs: 5_000, maxOpenMs: 25_000, rateLimitCooldownMs: 20_000 },
    };

    test.each([
      ['open', endpointFailure, 1],
      ['of a model open', targetFailure, 1],
      ['half-open', endpointFailure, 5_000],
    ] as const)('admits all calls if it was %s, and stays so', (_, signal, nowMs) => {
      const health = healthAfter(signal, 5);
      health.adopt(viewOf(shared.keys, off));
      expect([health.breakers(nowMs), usable(health, nowMs)]).toEqual([[], ['t0/a', 't0/b', 't1']]);
      for (let n = 0; n < 5; n++) attempt(health, keyA, signal, nowMs);
      expect([health.breakers(nowMs), usable(health, nowMs)]).toEqual([[], ['t0/a', 't0/b', 't1']]);
    });

    test('ends a slow start', () => {
      const health = healthAfter(endpointFailure, 5);
      for (const nowMs of [5_000, 5_100]) attempt(health, keyA, { type: 'success' }, nowMs);
      health.adopt(viewOf(shared.keys, off));
      expect(health.shareOf(keyA.target, 5_100)).toBe(1);
    });

    test('holds for calls in flight too: the latest setting counts', () => {
      const health = newHealth();
      const late = Array.from({ length: 5 }, () => health.onStart(keyA, false, 0));
      health.adopt(viewOf(shared.keys, off));
      for (const watched of late) health.onEnd(watched, endpointFailure, 1);
      expect(usable(health, 1)).toEqual(['t0/a', 't0/b', 't1']);
    });
  });
});
