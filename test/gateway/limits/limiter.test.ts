// How does one gateway keep its share of a limit, and what it holds? By a clock that stops.

import { describe, expect, test } from 'vitest';
import type { RateLimits } from '../../../core/contract/routing-table.ts';
import { Limiter } from '../../../gateway/limits/limiter.ts';
import type { Outcome } from '../../../gateway/limits/outcome.ts';
import type { LimitStore } from '../../../gateway/limits/store.ts';
import { makeFakeClock } from '../../support/fake-clock.ts';

function limiterOf(pods = 1, store?: LimitStore) {
  const clock = { ...makeFakeClock(1_000), wallMs: () => 0 };
  const state = { pods };
  const limited: string[] = [];
  const limiter = new Limiter({
    clock,
    name: 'test',
    pods: () => state.pods,
    store,
    // The clock is moved on while it answers.
    callBudgetMs: 1_000_000,
    onStoreError: 'LocalShare',
    events: {
      onLimited: (subject, limit) => limited.push(`${subject} ${limit}`),
      onCall() {},
      onFailure() {},
      onTurn() {},
    },
  });
  const reserve = (limits: RateLimits, tokens = 0, lastsMs = 600_000): Outcome => {
    const subject = { kind: 'api-key' as const, id: 'team/key', limits };
    const outcome = limiter.reserve([subject], { requests: 1, tokens, takesPlace: true }, lastsMs);
    if (outcome === undefined || outcome instanceof Promise) throw new Error('no limit was asked');
    return outcome;
  };
  /** How many are admitted, of many that ask. */
  const letIn = (limits: RateLimits, asked = 100): number =>
    Array.from({ length: asked }, () => reserve(limits)).filter(({ type }) => type === 'granted').length;
  return { clock, state, limited, limiter, reserve, letIn };
}

describe('the share of a pod', () => {
  test.each([
    [1, 10, 10],
    [4, 10, 2],
    [4, 100, 25],
    // Less than one of each would be none at all.
    [4, 1, 1],
    [100, 10, 1],
    // Nobody has reported how many there are.
    [0, 10, 10],
  ])('of %i pods, of %i requests per minute: %i at once', (pods, requestsPerMinute, share) => {
    expect(limiterOf(pods).letIn({ requestsPerMinute })).toBe(share);
  });

  test.each([
    [1, 8, 8],
    [3, 8, 2],
    [4, 1, 1],
  ])('of %i pods, of %i places: %i', (pods, maxConcurrentRequests, share) => {
    expect(limiterOf(pods).letIn({ maxConcurrentRequests })).toBe(share);
  });

  test('admits the whole limit at once, and then waits for its share', () => {
    const { reserve, clock } = limiterOf(4);
    const limits = { tokensPerMinute: 4_000 };
    expect(reserve(limits, 3_000).type).toBe('granted');
    expect(reserve(limits, 1)).toMatchObject({ type: 'refused', limit: 'tokens', waitMs: 120_060 });
    clock.advance(120_060);
    expect(reserve(limits, 1).type).toBe('granted');
  });

  test('in the long run all pods together admit exactly the limit', () => {
    const { clock, letIn } = limiterOf(4);
    let passed = letIn({ requestsPerMinute: 2 });
    for (let minute = 0; minute < 10; minute++) {
      for (let second = 0; second < 60; second++) {
        clock.advance(1_000);
        passed += letIn({ requestsPerMinute: 2 }, 1);
      }
    }
    // One at once, and half a request a minute.
    expect(passed).toBe(6);
  });

  test('follows the number of pods as it changes', () => {
    const { state, letIn } = limiterOf(4);
    const limits = { requestsPerMinute: 8 };
    expect(letIn(limits)).toBe(2);
    state.pods = 2;
    expect(letIn(limits)).toBe(2);
    state.pods = 8;
    expect(letIn(limits)).toBe(0);
  });
});

describe('a limit that changes', () => {
  const perMinute = (requestsPerMinute: number) => ({ requestsPerMinute });

  test('delays no request longer than if it had always been as low', () => {
    const { clock, reserve, letIn } = limiterOf();
    expect(letIn(perMinute(120), 200)).toBe(120);
    expect(reserve(perMinute(6))).toMatchObject({ type: 'refused', waitMs: 10_000 });
    clock.advance(10_000);
    expect(letIn(perMinute(6))).toBe(1);
  });

  test('admits the difference at once after a raise', () => {
    const { letIn } = limiterOf();
    expect([letIn(perMinute(6)), letIn(perMinute(20))]).toEqual([6, 14]);
  });

  test('counts the same fraction for requests of the earlier limit, when they are settled', () => {
    const { clock, reserve } = limiterOf();
    const tokens = (tokensPerMinute: number) => ({ tokensPerMinute });
    const granted = reserve(tokens(1_000_000), 500_000);
    expect(reserve(tokens(50_000), 25_000).type).toBe('granted');
    if (granted.type === 'granted') granted.settle({ tokens: 1_000_000 });
    // Half a minute of what was used beyond the estimate, and as much as is asked for.
    expect(reserve(tokens(50_000), 25_000)).toMatchObject({ type: 'refused', waitMs: 60_000 });
    clock.advance(60_000);
    expect(reserve(tokens(50_000), 25_000).type).toBe('granted');
  });

  test('counts earlier requests of a pod unchanged if there are more pods now', () => {
    const { state, reserve } = limiterOf();
    for (let index = 0; index < 8; index++) reserve(perMinute(8));
    state.pods = 4;
    expect(reserve(perMinute(8))).toMatchObject({ type: 'refused', waitMs: 210_000 });
  });
});

describe('a refused request', () => {
  test('gets the limit with the longest wait in its error', () => {
    const { reserve, limited } = limiterOf();
    const limits = { requestsPerMinute: 60, tokensPerMinute: 60, maxConcurrentRequests: 1 };
    expect(reserve(limits, 60).type).toBe('granted');
    expect(reserve(limits, 30)).toMatchObject({ limit: 'tokens', waitMs: 30_000 });
    expect(limited).toEqual(['api-key tokens']);
  });

  test('uses nothing of the limits that had room', () => {
    const { limiter, reserve } = limiterOf();
    const narrow = { kind: 'api-key' as const, id: 'team/key', limits: { requestsPerMinute: 1 } };
    const wide = { kind: 'model-route' as const, id: 'team/m', limits: { requestsPerMinute: 2 } };
    const wanted = { requests: 1, tokens: 0, takesPlace: true };
    expect(reserve(narrow.limits).type).toBe('granted');
    for (let index = 0; index < 5; index++) {
      expect(limiter.reserve([narrow, wide], wanted, 1)).toMatchObject({ type: 'refused' });
    }
    expect(limiter.reserve([wide], wanted, 1)).toMatchObject({ type: 'granted' });
    expect(limiter.reserve([wide], wanted, 1)).toMatchObject({ type: 'granted' });
  });

  test('is admitted after the time in its error, and not before', () => {
    const { reserve, clock } = limiterOf();
    const limits = { requestsPerMinute: 7 };
    for (let index = 0; index < 7; index++) reserve(limits);
    const refused = reserve(limits);
    const waitMs = refused.type === 'refused' ? refused.waitMs : 0;
    clock.advance(waitMs - 1);
    expect(reserve(limits).type).toBe('refused');
    clock.advance(1);
    expect(reserve(limits).type).toBe('granted');
  });
});

describe('a reservation', () => {
  const limits = { tokensPerMinute: 100, maxConcurrentRequests: 1 };

  test('is settled once', () => {
    const { reserve, limiter } = limiterOf();
    const granted = reserve(limits, 100);
    if (granted.type !== 'granted') throw new Error('it was refused');
    granted.settle({ tokens: 40 });
    granted.settle({ tokens: 0 });
    granted.giveBack();
    expect(limiter.heldCount).toBe(0);
    expect(reserve(limits, 61).type).toBe('refused');
    expect(reserve(limits, 60).type).toBe('granted');
  });

  test('keeps its place as long as its request is in flight', () => {
    const { reserve, clock } = limiterOf();
    const granted = reserve(limits, 0, 3_600_000);
    clock.advance(3_500_000);
    expect(reserve(limits).type).toBe('refused');
    if (granted.type === 'granted') granted.settle({ tokens: 0 });
    expect(reserve(limits).type).toBe('granted');
  });

  test('is renewed in a store every half minute as long as its request is in flight', async () => {
    const renewed: string[][] = [];
    const { clock, limiter } = limiterOf(1, {
      reserve: async () => ({ isGranted: true, nowMs: 0, readings: [{ used: [], held: 0 }] }),
      look: () => Promise.reject(new Error('nobody looks')),
      settle: async () => 0,
      renew: async (places) => {
        renewed.push(places.map(({ key }) => key));
        return 0;
      },
      connect: async () => {},
      reconnect() {},
      close() {},
    });
    await limiter.start();
    const subject = { kind: 'api-key' as const, id: 'team/key', limits: { maxConcurrentRequests: 1 } };
    const granted = await limiter.reserve([subject], { requests: 1, tokens: 0, takesPlace: true }, 600_000);
    renewed.length = 0;
    clock.advance(30_000);
    clock.advance(30_000);
    if (granted?.type === 'granted') granted.settle({ tokens: 0 });
    clock.advance(30_000);
    expect(renewed).toEqual([['api-key:team/key'], ['api-key:team/key']]);
  });

  test('that is never settled ends a minute and a half after its request must have ended', () => {
    const { reserve, clock, limiter } = limiterOf();
    reserve(limits, 0, 100_000);
    clock.advance(159_000);
    expect(reserve(limits).type).toBe('refused');
    clock.advance(31_001);
    expect(limiter.heldCount).toBe(0);
    expect(reserve(limits).type).toBe('granted');
  });

  test('leaves no timer after the last request', () => {
    const { reserve, clock } = limiterOf();
    const granted = reserve(limits, 100);
    if (granted.type === 'granted') granted.settle({ tokens: 100 });
    expect(clock.pending()).toHaveLength(1);
    clock.advance(120_000);
    expect(clock.pending()).toEqual([]);
  });
});

test('with absurd counts blocks a key for eleven minutes, not for ever', () => {
  const { reserve, clock } = limiterOf();
  const limits = { tokensPerMinute: 100 };
  const granted = reserve(limits, 1);
  if (granted.type === 'granted') granted.settle({ tokens: Number.MAX_SAFE_INTEGER });
  expect(reserve(limits, 1)).toMatchObject({ type: 'refused', waitMs: 600_600 });
  clock.advance(600_600);
  expect(reserve(limits, 1).type).toBe('granted');
});
