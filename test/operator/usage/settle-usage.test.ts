// Is the usage of a key written seldom, and as soon as a budget is passed? And once only?

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ApiKeyUsage, Budget } from '../../../operator/resources/api-key.ts';
import {
  settleUsage,
  USAGE_GAP_MS,
  type UsageDecision,
  type UsageFacts,
} from '../../../operator/usage/settle-usage.ts';
import { AT, AT_MS, makeSpent } from './make-spent.ts';

const budget = (more: Partial<Budget> = {}): Budget => ({
  period: 'Month',
  limit: '100.00',
  currency: 'USD',
  action: 'Block',
  warnPercent: 80,
  ...more,
});

const settle = (facts: Partial<UsageFacts>): UsageDecision =>
  settleUsage({
    budgets: [],
    spent: undefined,
    present: undefined,
    gateways: { ready: 2, haveStore: false },
    nowMs: AT_MS,
    ...facts,
  });

function written(decision: UsageDecision): ApiKeyUsage {
  if (decision.type !== 'write') throw new Error(`no write but ${JSON.stringify(decision)}`);
  return decision.usage;
}

const crossed = (decision: UsageDecision) =>
  decision.type === 'write'
    ? decision.crossings.map(({ budget: of, passed }) => `${of.period} ${passed}`)
    : decision.type;

test('a key without budgets shows its use of this month', () => {
  expect(written(settle({ spent: makeSpent({ micros: 41_237_000, requests: 3 }) }))).toEqual({
    observedAt: AT,
    lastUsedAt: AT,
    spend: '41.237',
    periods: [
      {
        period: 'Month',
        start: '2026-11-01T00:00:00Z',
        spend: '41.237',
        requests: 3,
        inputTokens: 30,
        cachedInputTokens: 12,
        outputTokens: 6,
      },
    ],
  });
});

test('a key with budgets shows each period, with its limit; the longest one is in the column', () => {
  const budgets = [budget({ period: 'Total', limit: '500' }), budget({ period: 'Day', limit: '2.5' })];
  const spent = { ...makeSpent({ micros: 1_000_000 }), total: makeSpent({ micros: 9_000_000 }).total };
  const usage = written(settle({ budgets, spent }));
  expect(usage.spend).toBe('9.00');
  expect(usage.periods?.map(({ period, start, spend, limit }) => [period, start, spend, limit])).toEqual([
    ['Day', '2026-11-22T00:00:00Z', '1.00', '2.5'],
    ['Total', undefined, '9.00', '500'],
  ]);
});

describe('a blocking budget', () => {
  const budgets = [budget({ limit: '90' }), budget({ period: 'Day', action: 'Warn' })];
  const of = (ready: number, present?: ApiKeyUsage, haveStore = false, nowMs = AT_MS + USAGE_GAP_MS) =>
    settle({ budgets, gateways: { ready, haveStore }, present, nowMs });
  const said = ({ periods }: ApiKeyUsage) => periods?.map(({ atWorst }) => atWorst);
  const ofTwo = written(of(2, undefined, false, AT_MS));

  test('shows its worst overshoot', () => {
    expect(said(ofTwo)).toEqual([undefined, { requests: 2, dollars: '45.00' }]);
    const withoutStore = { requests: 9, dollars: '720.00' };
    expect(said(written(of(9, undefined, true)))?.[1]).toEqual({
      requests: 1,
      dollars: '0.00',
      withoutStore,
    });
  });

  test('shows it again after five minutes if it has grown', () => {
    expect(said(written(of(9, ofTwo)))?.[1]).toEqual({ requests: 9, dollars: '80.00' });
    expect(of(9, ofTwo, false, AT_MS + 1_000)).toEqual({ type: 'wait', untilMs: AT_MS + USAGE_GAP_MS });
    expect(of(1, ofTwo)).toEqual({ type: 'same' });
  });

  test('shows it again if the store may be away, which was not shown before', () => {
    const together = written(of(2, undefined, true, AT_MS));
    expect(of(2, together, true)).toEqual({ type: 'same' });
    expect(said(written(of(3, together, true)))?.[1]?.withoutStore?.requests).toBe(3);
    const periods = ofTwo.periods?.map(({ atWorst: _, ...one }) => ({
      ...one,
      atWorst: { requests: 1, dollars: '0.00' },
    }));
    expect(said(written(of(2, { ...ofTwo, periods }, true)))?.[1]).toHaveProperty('withoutStore');
  });

  test('shows no overshoot before there is a gateway, and then does', () => {
    const ofNone = written(of(0, undefined, false, AT_MS));
    expect(said(ofNone)).toEqual([undefined, undefined]);
    expect(of(0, ofNone)).toEqual({ type: 'same' });
    expect(of(0, ofTwo)).toEqual({ type: 'same' });
    expect(said(written(of(1, ofNone)))?.[1]).toEqual({ requests: 1, dollars: '0.00' });
  });
});

test('an unused key has no usage, unless it has a budget', () => {
  expect(settle({})).toEqual({ type: 'same' });
  expect(written(settle({ budgets: [budget()] }))).toMatchObject({ spend: '0.00' });
  expect(written(settle({ budgets: [budget()] })).lastUsedAt).toBeUndefined();
});

describe('a change', () => {
  const present = written(settle({ spent: makeSpent({ micros: 1_000_000 }) }));

  test('waits for five minutes after the last write', () => {
    const spent = makeSpent({ micros: 2_000_000 });
    const untilMs = AT_MS + USAGE_GAP_MS;
    expect(settle({ present, spent, nowMs: untilMs - 1 })).toEqual({ type: 'wait', untilMs });
    expect(written(settle({ present, spent, nowMs: untilMs }))).toMatchObject({ spend: '2.00' });
  });

  test('without a difference is not written, after any time and for any order of lists', () => {
    const spent = makeSpent({ micros: 1_000_000 });
    expect(settle({ present, spent, nowMs: AT_MS + 3_600_000 })).toEqual({ type: 'same' });
    const budgets = [budget(), budget({ period: 'Day' })];
    const two = written(settle({ budgets, spent }));
    expect(settle({ budgets, spent, present: { ...two, periods: two.periods?.toReversed() } })).toEqual({
      type: 'same',
    });
  });

  test('may be the start of a period, though the key is unused', () => {
    const nextMonth = Date.UTC(2026, 11, 1);
    const usage = written(settle({ present, spent: makeSpent({ micros: 1_000_000 }), nowMs: nextMonth }));
    expect(usage).toMatchObject({
      spend: '0.00',
      lastUsedAt: AT,
      periods: [{ start: '2026-12-01T00:00:00Z', requests: 0 }],
    });
  });

  test('may be another limit, or its removal', () => {
    const spent = makeSpent({ micros: 1_000_000 });
    const nowMs = AT_MS + USAGE_GAP_MS;
    const limited = written(settle({ budgets: [budget()], spent, present, nowMs }));
    expect(limited.periods).toMatchObject([{ limit: '100.00' }]);
    const later = nowMs + USAGE_GAP_MS;
    expect(written(settle({ spent, present: limited, nowMs: later })).periods?.[0]).not.toHaveProperty(
      'limit',
    );
  });
});

describe('a budget that is passed', () => {
  const budgets = [budget()];
  const at = (micros: number, present?: ApiKeyUsage, nowMs = AT_MS) =>
    settle({ budgets, spent: makeSpent({ micros, atMs: nowMs }), present, nowMs });
  const below = written(at(79_999_999));

  test('is written at once, at the exact millionth, and reported once', () => {
    expect(crossed(at(79_999_999))).toEqual([]);
    const warned = at(80_000_000, below, AT_MS + 1_000);
    expect(crossed(warned)).toEqual(['Month warning']);
    expect(crossed(at(90_000_000, written(warned), AT_MS + 2_000))).toBe('wait');
    const reached = at(100_000_000, written(warned), AT_MS + 3_000);
    expect(crossed(reached)).toEqual(['Month limit']);
    expect(crossed(at(101_000_000, written(reached), AT_MS + 4_000))).toBe('wait');
    expect(crossed(at(99_999_999, written(warned), AT_MS + 3_000))).toBe('wait');
  });

  test('in one step is reported for the limit alone', () => {
    expect(crossed(at(150_000_000, below))).toEqual(['Month limit']);
  });

  test('is reported again in the next period', () => {
    const reached = written(at(100_000_000, below));
    const next = Date.UTC(2026, 11, 1, 12);
    expect(crossed(at(80_000_000, reached, next))).toEqual(['Month warning']);
  });

  test('because it was set below the spend is reported at once', () => {
    const spent = makeSpent({ micros: 60_000_000 });
    const present = written(settle({ spent }));
    const nowMs = AT_MS + 1_000;
    expect(crossed(settle({ budgets: [budget({ limit: '50' })], spent, present, nowMs }))).toEqual([
      'Month limit',
    ]);
    expect(crossed(settle({ budgets: [budget({ limit: '500' })], spent, present, nowMs }))).toBe('wait');
  });

  test('because its limit was lowered is reported too; after a raise, again when the new limit is passed', () => {
    const lowered = settle({
      budgets: [budget({ limit: '50' })],
      spent: makeSpent({ micros: 60_000_000 }),
      present: written(at(60_000_000)),
    });
    expect(crossed(lowered)).toEqual(['Month limit']);
    const raised = settle({
      budgets: [budget({ limit: '500' })],
      spent: makeSpent({ micros: 60_000_000 }),
      present: written(lowered),
      nowMs: AT_MS + USAGE_GAP_MS,
    });
    expect(crossed(raised)).toEqual([]);
  });

  describe('after an earlier warning, the limit', () => {
    const early = (warnPercent: number, micros: number, present: ApiKeyUsage, afterMs = 1_000) =>
      settle({
        budgets: [budget({ warnPercent })],
        spent: makeSpent({ micros }),
        present,
        nowMs: AT_MS + afterMs,
      });
    const unwarned = written(at(60_000_000));

    test('is reported at once, and once, with or without more spend at the same time', () => {
      for (const micros of [60_000_000, 61_000_000]) {
        const warned = early(50, micros, unwarned);
        expect(crossed(warned)).toEqual(['Month warning']);
        expect(early(50, micros, written(warned), 2_000)).toEqual({ type: 'same' });
        expect(crossed(early(40, micros, written(warned), 2_000))).toBe('same');
        expect(crossed(early(50, 70_000_000, written(warned), 2_000))).toBe('wait');
        expect(crossed(early(50, 100_000_000, written(warned), 2_000))).toEqual(['Month limit']);
      }
    });

    test('is reported when it is passed later, though nothing was written in between', () => {
      const warned = written(early(50, 60_000_000, unwarned));
      expect(early(90, 60_000_000, warned, 2_000)).toEqual({ type: 'same' });
      expect(crossed(early(90, 95_000_000, warned, 2_000))).toEqual(['Month warning']);
    });

    test('is not repeated if the time of the earlier warning is unknown', () => {
      const periods = unwarned.periods?.map(({ warnPercent: _, ...period }) => period);
      expect(crossed(early(50, 61_000_000, { ...unwarned, periods }))).toBe('wait');
    });
  });
});

test('for any spend, writes without news are five minutes apart, and each share of each period is reported once', () => {
  const step = fc.record({
    afterMs: fc.integer({ min: 1_000, max: 40_000_000 }),
    micros: fc.integer({ min: 0, max: 60_000_000 }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const budgets = [budget(), budget({ period: 'Day', limit: '20', warnPercent: 50 })];
      const spends = { Day: 0, Month: 0 };
      let present: ApiKeyUsage | undefined;
      let nowMs = AT_MS;
      const reported = new Set<string>();
      for (const { afterMs, micros } of steps) {
        const before = new Date(nowMs);
        nowMs += afterMs;
        const now = new Date(nowMs);
        if (before.getUTCDate() !== now.getUTCDate() || afterMs > 86_400_000) spends.Day = 0;
        if (before.getUTCMonth() !== now.getUTCMonth()) spends.Month = 0;
        spends.Day += micros;
        spends.Month += micros;
        const spent = {
          ...makeSpent({ atMs: nowMs, micros: spends.Month }),
          day: makeSpent({ atMs: nowMs, micros: spends.Day }).day,
        };
        const decision = settle({ budgets, spent, present, nowMs });
        if (decision.type !== 'write') continue;
        if (decision.crossings.length === 0 && present?.observedAt !== undefined)
          expect(nowMs - Date.parse(present.observedAt)).toBeGreaterThanOrEqual(USAGE_GAP_MS);
        for (const { budget: of, passed, period } of decision.crossings) {
          const name = `${of.period} ${period.start} ${passed}`;
          expect(reported.has(name), name).toBe(false);
          reported.add(name);
        }
        present = decision.usage;
      }
    }),
  );
});
