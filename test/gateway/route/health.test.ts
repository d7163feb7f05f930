// What has this pod learnt about its upstreams, and whom does a failure concern?

import { describe, expect, test } from 'vitest';
import { Health, type HealthSignal } from '../../../gateway/route/health.ts';
import type { Candidate } from '../../../gateway/route/plan.ts';
import { candidatesOf, nameOf } from './candidates.ts';

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
