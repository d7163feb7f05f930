// What has this pod learnt about its upstreams, and whom does a failure concern?

import { describe, expect, test } from 'vitest';
import { Health, type HealthSignal } from '../../../gateway/route/health.ts';
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
  target: { ...keyA.target, entry: { ...keyA.target.entry, upstreamModel: 'another' } },
};

const targetFailure: HealthSignal = { type: 'target-failure' };
const endpointFailure: HealthSignal = { type: 'endpoint-failure' };

function healthAfter(signal: HealthSignal, times: number, nowMs = 0): Health {
  const health = new Health();
  for (let n = 0; n < times; n++) {
    health.onStart(keyA, nowMs);
    health.onEnd(keyA, signal, nowMs);
  }
  return health;
}

function usable(health: Health, nowMs: number): string[] {
  return [keyA, keyB, other].filter((candidate) => health.isUsable(candidate, nowMs)).map(nameOf);
}

test('everybody is welcome at first', () => {
  expect(usable(new Health(), 0)).toEqual(['t0/a', 't0/b', 't1']);
});

describe('a resting key', () => {
  const health = healthAfter({ type: 'key-rest', forMs: 2_000, reason: 'rate-limit' }, 1);
  test('is left alone until its time, its sister is not', () => {
    expect(usable(health, 1_999)).toEqual(['t0/b', 't1']);
    expect(usable(health, 2_000)).toEqual(['t0/a', 't0/b', 't1']);
  });
  test('says when it may be used again', () => {
    expect(health.usableInMs([keyA], 500)).toBe(1_500);
    expect(health.usableInMs([keyA, keyB], 500)).toBe(0);
    expect(health.usableInMs([], 500)).toBe(0);
  });
});

describe('the breaker', () => {
  test('of a model concerns all keys of the provider, and no other model', () => {
    const health = healthAfter(targetFailure, 5);
    expect(usable(health, 0)).toEqual(['t1']);
    expect(health.isUsable(otherModel, 0)).toBe(true);
  });

  test('of an endpoint concerns all its models', () => {
    const health = healthAfter(endpointFailure, 5);
    expect(usable(health, 0)).toEqual(['t1']);
    expect(health.isUsable(otherModel, 0)).toBe(false);
  });

  test('needs five in a row: a success starts anew', () => {
    const health = healthAfter(targetFailure, 4);
    health.onEnd(keyB, { type: 'success' }, 0);
    health.onEnd(keyA, targetFailure, 0);
    expect(usable(health, 0)).toEqual(['t0/a', 't0/b', 't1']);
  });

  test('does not hear of mistakes and leavers', () => {
    expect(usable(healthAfter({ type: 'none' }, 50), 0)).toEqual(['t0/a', 't0/b', 't1']);
  });

  test('lets one trial through when its time is up, and closes with its success', () => {
    const health = healthAfter(targetFailure, 5);
    expect(usable(health, 4_999)).toEqual(['t1']);
    expect(usable(health, 5_000)).toEqual(['t0/a', 't0/b', 't1']);
    health.onStart(keyA, 5_000);
    expect(usable(health, 5_000)).toEqual(['t1']);
    health.onEnd(keyA, { type: 'success' }, 5_100);
    expect(usable(health, 5_100)).toEqual(['t0/a', 't0/b', 't1']);
  });

  test('opens for longer when the trial fails', () => {
    const health = healthAfter(targetFailure, 5);
    health.onStart(keyA, 5_000);
    health.onEnd(keyA, targetFailure, 5_000);
    expect([usable(health, 14_999), usable(health, 15_000)]).toEqual([['t1'], ['t0/a', 't0/b', 't1']]);
    expect(health.usableInMs([keyA, keyB], 6_000)).toBe(9_000);
  });
});

describe('a trial of a half-open breaker', () => {
  const opened = (): Health => {
    const health = healthAfter(targetFailure, 5);
    health.onStart(keyA, 5_000);
    return health;
  };

  test('lets others through with its first content, and is reported', () => {
    const health = opened();
    const revision = health.revision(5_010);
    health.onContent(keyA, 5_010);
    expect(health.isUsable(keyB, 5_020)).toBe(true);
    expect(health.report(5_020, 0).filter(({ state }) => state === 'open')).toEqual([]);
    expect(health.revision(5_020)).not.toBe(revision);
  });

  test('keeps others out while it is under way', () => {
    expect(opened().isUsable(keyA, 5_001)).toBe(false);
  });

  test.each<HealthSignal>([{ type: 'none' }, { type: 'key-rest', forMs: 1, reason: 'rate-limit' }])(
    'that ends with $type, which says nothing of the model, makes room for another',
    (signal) => {
      const health = opened();
      health.onEnd(keyA, signal, 5_010);
      expect(health.isUsable(keyA, 5_020)).toBe(true);
    },
  );
});

test("a success of a request begun earlier does not end a key's rest", () => {
  const health = healthAfter({ type: 'key-rest', forMs: 9_000, reason: 'rate-limit' }, 1);
  health.onEnd(keyA, { type: 'success' }, 20);
  expect(health.isUsable(keyA, 30)).toBe(false);
  expect(health.restReason(keyA, 30)).toBe('rate-limit');
});

describe('a report', () => {
  const offsetMs = 1_000_000;
  const reportAt = (health: Health, nowMs: number) => health.report(nowMs, offsetMs);

  test('is empty before anything has happened', () => {
    expect(reportAt(new Health(), 0)).toEqual([]);
  });

  test('says of a key that it works once it has answered', () => {
    const health = new Health();
    health.onEnd(keyA, { type: 'none' }, 0);
    expect(reportAt(health, 0)).toEqual([]);
    health.onEnd(keyA, { type: 'success' }, 0);
    health.onEnd(other, { type: 'success' }, 0);
    expect(reportAt(health, 0)).toEqual([
      { provider: 'platform/p', key: 'a', state: 'working' },
      { provider: 'platform/q', state: 'working' },
    ]);
  });

  test.each([
    ['rate-limit', 'rate-limited'],
    ['out-of-money', 'out-of-money'],
    ['rejected', 'rejected'],
  ] as const)('says of a key that rests for %s: %s, until when, and not that it works', (reason, state) => {
    const health = healthAfter({ type: 'success' }, 1);
    health.onEnd(keyA, { type: 'key-rest', forMs: 2_000, reason }, 500);
    const line = { provider: 'platform/p', key: 'a', state, untilMs: offsetMs + 2_500 };
    expect(reportAt(health, 2_499)).toEqual([line]);
    expect(reportAt(health, 2_500), 'it has not answered since').toEqual([]);
  });

  test('says which model at which provider is cut off, and which provider as a whole', () => {
    const model = healthAfter(targetFailure, 5);
    model.onEnd(keyB, { type: 'success' }, 0);
    expect(reportAt(healthAfter(targetFailure, 4), 0)).toEqual([]);
    expect(reportAt(healthAfter(targetFailure, 5), 0)).toEqual([
      { provider: 'platform/p', upstreamModel: expect.any(String), state: 'open', untilMs: offsetMs + 5_000 },
    ]);
    const whole = healthAfter({ type: 'success' }, 1);
    for (let n = 0; n < 5; n++) whole.onEnd(keyA, endpointFailure, 0);
    expect(reportAt(whole, 0)).toEqual([
      { provider: 'platform/p', state: 'open', untilMs: offsetMs + 5_000 },
    ]);
  });

  test('forgets what has not answered for long', () => {
    const health = healthAfter({ type: 'success' }, 1);
    const working = reportAt(health, 0);
    health.revision(600_000);
    expect(reportAt(health, 600_000)).toEqual(working);
    health.revision(1_200_000);
    expect(reportAt(health, 1_200_000)).toEqual([]);
  });

  test('is at most a thousand lines long', () => {
    const health = new Health();
    for (let n = 0; n < 1_500; n++) {
      health.onEnd({ ...keyA, endpoint: { ...keyA.endpoint, healthId: `id-${n}` } }, { type: 'success' }, 0);
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
    const health = new Health();
    const succeed = (): void => health.onEnd(keyA, { type: 'success' }, 0);
    expect(changed(health, 0, succeed)).toBe(true);
    expect(changed(health, 0, succeed)).toBe(false);
    // Nor when the span of time is another.
    expect(health.revision(600_000)).toBe(health.revision(0));
    expect(changed(health, 600_000, succeed)).toBe(false);
  });

  test('changes when a breaker opens, opens again and closes', () => {
    const health = healthAfter(targetFailure, 4);
    expect(changed(health, 0, () => health.onEnd(keyA, targetFailure, 0))).toBe(true);
    expect(changed(health, 5_000, () => health.onEnd(keyA, targetFailure, 5_000))).toBe(true);
    expect(changed(health, 20_000, () => health.onEnd(keyA, { type: 'success' }, 20_000))).toBe(true);
  });

  test("changes when a key's rest begins, and when it is over", () => {
    const health = new Health();
    const rest: HealthSignal = { type: 'key-rest', forMs: 100, reason: 'rate-limit' };
    expect(changed(health, 0, () => health.onEnd(keyA, rest, 0))).toBe(true);
    const resting = health.revision(99);
    expect(health.revision(100)).not.toBe(resting);
    expect(usable(health, 100)).toEqual(['t0/a', 't0/b', 't1']);
  });
});

describe('another table', () => {
  const viewOf = (keys: Readonly<Record<string, string>>) =>
    ({ routes: [routeOf([{ ...shared, keys }, { provider: 'platform/q' }])] }) as const;
  const rejected: HealthSignal = { type: 'key-rest', forMs: 60_000, reason: 'rejected' };

  test('with the same credential leaves a rejected key where it is', () => {
    const health = healthAfter(rejected, 1);
    health.adopt(viewOf({ a: 'A', b: 'other' }));
    expect(usable(health, 1)).toEqual(['t0/b', 't1']);
  });

  test('with another credential ends its rest, and nothing is told of it any more', () => {
    const health = healthAfter(rejected, 1);
    const before = health.revision(1);
    health.adopt(viewOf({ a: 'next', b: 'B' }));
    expect(usable(health, 1)).toEqual(['t0/a', 't0/b', 't1']);
    expect(health.revision(1)).not.toBe(before);
    expect(health.report(1, 0)).toEqual([]);
  });

  test('what a key answered to with a former credential is not told of it once the new one is rejected', () => {
    const health = healthAfter({ type: 'success' }, 1);
    const [renewed] = candidatesOf([{ ...shared, keys: { a: 'next', b: 'B' } }]);
    if (!renewed) throw new Error('there is a candidate');
    health.onEnd(renewed, rejected, 1);
    expect(health.report(1, 0)).toEqual([
      { provider: 'platform/p', key: 'a', state: 'rejected', untilMs: 60_001 },
    ]);
  });
});
