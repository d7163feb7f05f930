// Do the figures of the overview add up, and do its sentences say what is wrong?

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { alertsOf } from '../../../dashboard/pages/overview/alerts.ts';
import { timeTicks, valueTicks } from '../../../dashboard/pages/overview/axis.ts';
import type { BudgetUse, HealthRow, SeriesRow } from '../../../dashboard/pages/overview/ledger.ts';
import { isNearEnd, usedUpAt } from '../../../dashboard/pages/overview/pace.ts';
import { PERIODS, periodQuery, periodThatHolds } from '../../../dashboard/pages/overview/period.ts';
import { columnsOf, largestOf, stackRows, withFigures } from '../../../dashboard/pages/overview/stack.ts';
import { topRows } from '../../../dashboard/pages/overview/tops.ts';
import { figuresOf, overTime } from '../../../dashboard/pages/overview/totals.ts';
import { openFormats } from '../../../dashboard/pages/words/format.ts';
import type { ModelRoute, Provider } from '../../../dashboard/pages/words/kube.ts';
import { alone, linePath } from '../../../dashboard/pages/words/line-path.ts';
import { readParameters } from '../../../ledger/read-api/parameters.ts';

const nowMs = Date.parse('2026-11-23T00:30:00Z');

describe('a period', () => {
  test('of an hour is sixty minutes, not the clock hours that it touches', () => {
    const { from, to, interval, starts } = periodQuery('1h', nowMs + 59_999);
    expect([from, to, interval]).toEqual(['2026-11-22T23:31:00Z', '2026-11-23T00:31:00Z', 'minute']);
    expect([starts.length, starts[0], starts.at(-1)]).toEqual([60, from, '2026-11-23T00:30:00Z']);
  });

  test('of hours reaches into the day before', () => {
    const { from, to, starts } = periodQuery('24h', nowMs);
    expect([from, to, starts.length]).toEqual(['2026-11-22T01:00:00Z', '2026-11-23T01:00:00Z', 24]);
  });

  test('of days ends with today', () => {
    const query = periodQuery('7d', nowMs);
    expect([query.from, query.to, query.starts.length]).toEqual(['2026-11-17', '2026-11-24', 7]);
  });

  test('requests what it shows and nothing else, within the limits of the ledger', () => {
    fc.assert(
      fc.property(fc.constantFrom(...PERIODS), fc.integer({ min: 0, max: 4e12 }), (period, atMs) => {
        const { from, to, starts, interval } = periodQuery(period, atMs);
        const stepMs = { minute: 60_000, hour: 3_600_000, day: 86_400_000 }[interval];
        expect(starts.map((start) => Date.parse(start))).toEqual(
          starts.map((_, at) => Date.parse(from) + at * stepMs),
        );
        expect(Date.parse(to)).toBe(Date.parse(from) + starts.length * stepMs);
        expect(atMs >= Date.parse(starts.at(-1) ?? '') && atMs < Date.parse(to)).toBe(true);
        expect(() =>
          readParameters(new URLSearchParams({ from, to, interval, by: 'apiKey' }), atMs),
        ).not.toThrow();
      }),
    );
  });
});

describe('the initial period', () => {
  const at = Date.parse('2026-11-23T12:30:30Z');
  const minute = (minutesAgo: number, requests: number) => ({
    start: `${new Date(at - minutesAgo * 60_000).toISOString().slice(0, 16)}:00Z`,
    requests,
  });
  const hour = (hoursAgo: number, requests: number) => ({
    start: `${new Date(at - hoursAgo * 3_600_000).toISOString().slice(0, 13)}:00:00Z`,
    requests,
  });
  const day = (daysAgo: number, requests: number) => ({
    start: new Date(at - daysAgo * 86_400_000).toISOString().slice(0, 10),
    requests,
  });

  test.each([
    ['of minutes in a fresh system', [minute(3, 9)], [hour(0, 9)], [day(0, 9)], '15m'],
    ['of an hour, where it began in it', [minute(40, 5), minute(1, 5)], [hour(0, 10)], [day(0, 10)], '1h'],
    ['of a day, where it has gone on', [minute(1, 10)], [hour(20, 10), hour(0, 10)], [day(0, 20)], '24h'],
    ['of a day, also of an old system', [minute(1, 1)], [hour(9, 100)], [day(29, 9_000), day(0, 101)], '24h'],
    ['of a week, where the last day had nothing', [], [], [day(3, 9)], '7d'],
    ['of a month, where the last week had nothing', [], [], [day(20, 9), day(2, 1)], '30d'],
    ['none, where nothing was asked for', [], [], [], undefined],
  ])('is %s', (_name, minutes, hours, days, period) => {
    expect(periodThatHolds(minutes, hours, days, at)).toBe(period);
  });

  test('has nine tenths of the calls of the last day, or all', () => {
    const one = fc.nat(1_000);
    fc.assert(
      fc.property(
        fc.array(one, { maxLength: 60 }),
        fc.array(one, { maxLength: 24 }),
        (inMinutes, inHours) => {
          const minutes = inMinutes.map((requests, ago) => minute(ago, requests));
          const hours = inHours.map((requests, ago) => hour(ago, requests));
          const sum = (rows: readonly { readonly requests: number }[]) =>
            rows.reduce((all, { requests }) => all + requests, 0);
          const period = periodThatHolds(minutes, hours, [], at);
          if (period === '15m') expect(sum(minutes.slice(0, 15))).toBeGreaterThanOrEqual(sum(hours) * 0.9);
          if (period === '1h') expect(sum(minutes)).toBeGreaterThanOrEqual(sum(hours) * 0.9);
          if (period === undefined) expect(sum(minutes) + sum(hours)).toBe(0);
        },
      ),
    );
  });
});

describe('labels of a chart', () => {
  test('of values are round, from 0 to at least the maximum', () => {
    expect(valueTicks(23)).toEqual([0, 10, 20, 30]);
    expect(valueTicks(0.0137)).toEqual([0, 0.005, 0.01, 0.015]);
    expect(valueTicks(3, true)).toEqual([0, 1, 2, 3]);
    expect(valueTicks(0)).toEqual([0]);
    fc.assert(
      fc.property(fc.double({ min: 1e-9, max: 1e12, noNaN: true }), (most) => {
        const ticks = valueTicks(most);
        expect(ticks.at(-1)).toBeGreaterThanOrEqual(most * (1 - 1e-9));
        expect(ticks.length).toBeLessThanOrEqual(6);
      }),
    );
  });

  test('of times are at round times of the reader', () => {
    const at = Date.parse('2026-11-23T17:49:30Z');
    const shown = (period: (typeof PERIODS)[number], max: number, zone = 0) => {
      const query = periodQuery(period, at);
      return timeTicks(query, max, () => zone).map((place) => query.starts[place]?.slice(5, 16));
    };
    expect(shown('1h', 7)).toEqual([
      '11-23T16:50',
      '11-23T17:00',
      '11-23T17:10',
      '11-23T17:20',
      '11-23T17:30',
      '11-23T17:40',
    ]);
    expect(shown('15m', 4)).toEqual(['11-23T17:35', '11-23T17:40', '11-23T17:45']);
    expect(shown('24h', 5, 60)).toEqual(['11-22T23:00', '11-23T05:00', '11-23T11:00', '11-23T17:00']);
    expect(shown('30d', 5)).toEqual(['10-26', '11-02', '11-09', '11-16', '11-23']);
  });

  test('are as many as fit, and at least the two farthest apart', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...PERIODS),
        fc.integer({ min: 0, max: 4e12 }),
        fc.integer({ min: 5, max: 30 }),
        (period, atMs, max) => {
          expect(timeTicks(periodQuery(period, atMs), max, () => 345).length).toBeLessThanOrEqual(max);
        },
      ),
    );
  });
});

describe('stacked columns', () => {
  const row = fc.record({
    start: fc.constantFrom('a', 'b', 'c', 'elsewhere'),
    group: fc.constantFrom('x', 'y', 'z', undefined),
    value: fc.nat(1000),
  });

  test('keep the total', () => {
    fc.assert(
      fc.property(fc.array(row), (rows) => {
        const stack = stackRows(rows, ['a', 'b', 'c']);
        const within = rows
          .filter(({ start }) => start !== 'elsewhere')
          .reduce((sum, { value }) => sum + value, 0);
        expect(stack.total).toBe(within);
        const pieces = columnsOf(stack.groups, 3);
        expect(pieces.reduce((sum, { from, to }) => sum + to - from, 0)).toBe(within);
        // Nothing is drawn over the baseline where there is nothing.
        expect(pieces.filter(({ from, to }) => to <= from)).toEqual([]);
      }),
    );
  });

  test('have the largest series first, and the rest at the end, however large', () => {
    const rows = ['x', 'y', undefined].map((group, at) => ({ start: 'a', group, value: at + 1 }));
    expect(stackRows(rows, ['a']).groups).toEqual([
      { name: 'y', isRest: false, total: 2, values: [2] },
      { name: 'x', isRest: false, total: 1, values: [1] },
      { name: 'All others', isRest: true, total: 3, values: [3] },
    ]);
  });
});

test('combine the series after the seven largest, and keep their total', () => {
  const rows = Array.from({ length: 12 }, (_, at) => ({ start: 'a', group: `g${at}`, value: at + 1 }));
  const { groups, total } = stackRows(largestOf(rows), ['a']);
  expect(groups.map(({ name }) => name)).toEqual(['g11', 'g10', 'g9', 'g8', 'g7', 'g6', 'g5', 'All others']);
  expect(total).toBe(78);
});

describe('a table of figures', () => {
  test('has the newest first, and no empty row', () => {
    expect(withFigures([{ values: [0, 2, undefined, 0] }, { values: [1, 0, undefined, 0] }], 4)).toEqual([
      1, 0,
    ]);
  });
});

describe('a line', () => {
  test('breaks at unknown values, and a single value is a dot', () => {
    const path = linePath(
      [1, 2, undefined, 3, undefined, 4, 5],
      (at) => at,
      (value) => value,
    );
    expect(path).toBe('M0 1L1 2M3 3h0M5 4L6 5');
    expect(alone([1, 2, undefined, 3, undefined, 4, 5, undefined, 6])).toEqual([
      [3, 3],
      [8, 6],
    ]);
  });
});

const seriesRow = (more: Partial<SeriesRow>): SeriesRow => ({
  ...{ requests: 0, attempts: 0, unpriced: 0, costUsd: '0', tokens: { input: 0, output: 0 } },
  ...more,
});

describe('the figures of the overview', () => {
  const total = {
    requests: 1000,
    outcomes: { answered: 985, failed: 9, 'broken-off': 1, refused: 5 },
    errorRate: 0.01,
    firstContentMs: { answers: 990, p50: 400, p90: 800, p99: 1200 },
  };
  const rows = [
    seriesRow({ hour: 'a', refused: 300, costUsd: '1.5', tokens: { input: 10, output: 2 } }),
    seriesRow({ hour: 'b', refused: 20, costUsd: '0.25', unpriced: 3 }),
  ];

  test('are all of one period, and no part exceeds its total', () => {
    const refusals = {
      rows: [
        { status: 429, refused: 300 },
        { status: 503, refused: 20 },
      ],
    };
    expect(figuresOf({ total }, { rows, isTruncated: false }, refusals)).toEqual({
      requests: 1320,
      sent: 1000,
      refused: 320,
      unserved: 20,
      errors: 30,
      errorRate: 30 / 1320,
      rejected: 5,
      firstContentMs: total.firstContentMs,
      input: 10,
      output: 2,
      cost: 1.75,
      unpriced: 3,
    });
  });

  test('that were not requested show neither error nor progress', () => {
    const none = { requests: 0, outcomes: {}, errorRate: 0 };
    expect(figuresOf({ total: none }, { rows: [], isTruncated: false }, { rows: [] })).toMatchObject({
      ...{ requests: 0, refused: 0, unserved: 0, errors: 0, errorRate: 0, firstContentMs: undefined },
    });
  });

  test('have a value for each interval, or are known to have none', () => {
    const query = { starts: ['a', 'b', 'c'], interval: 'hour' } as const;
    expect(overTime(rows, query, (row) => row.refused ?? 0, 0)).toEqual([300, 20, 0]);
    expect(overTime(rows, query, (row) => row.unpriced || undefined, undefined)).toEqual([
      undefined,
      3,
      undefined,
    ]);
  });
});

describe('the largest', () => {
  test('are summed over time, the largest first and the rest at the end', () => {
    const rows = [
      seriesRow({ hour: 'a', model: 'x', costUsd: '1', requests: 9 }),
      seriesRow({ hour: 'b', model: 'x', costUsd: '2' }),
      seriesRow({ hour: 'a', model: 'y', costUsd: '5' }),
      seriesRow({ hour: 'a', model: 'free' }),
      seriesRow({ hour: 'b', isRest: true, costUsd: '7' }),
    ];
    expect(topRows(rows, 'model', 'cost').map(({ name, cost }) => [name, cost])).toEqual([
      ['y', 5],
      ['x', 3],
      ['All others', 7],
    ]);
    expect(topRows(rows, 'model', 'requests').map(({ name }) => name)).toEqual(['x']);
  });
});

describe('the pace of a budget', () => {
  const now = Date.parse('2026-11-11T00:00:00Z');
  const month = { since: '2026-11-01', resetsAt: '2026-12-01T00:00:00.000Z' };

  test('names the time at which it is used up at the present pace', () => {
    // Half of it in ten days.
    expect(usedUpAt({ ...month, usedShare: 0.5 }, now)).toBe('2026-11-21T00:00:00.000Z');
  });

  test('of a key that is younger than the period is measured since its first use', () => {
    // Half of it in a day.
    const young = { ...month, usedShare: 0.5, paceSince: '2026-11-10' };
    expect(usedUpAt(young, now)).toBe('2026-11-12T00:00:00.000Z');
    const total = { usedShare: 0.25, paceSince: '2026-11-10T18:00:00Z' };
    expect(usedUpAt(total, now)).toBe('2026-11-11T18:00:00.000Z');
  });

  test('names none if it lasts, is used up, or has no start', () => {
    expect(usedUpAt({ ...month, usedShare: 0.3 }, now)).toBeUndefined();
    expect(usedUpAt({ ...month, usedShare: 1.2 }, now)).toBeUndefined();
    expect(usedUpAt({ ...month, usedShare: 0 }, now)).toBeUndefined();
    expect(usedUpAt({ usedShare: 0.9 }, now)).toBeUndefined();
    expect(usedUpAt({ ...month, usedShare: 1e-12 }, now)).toBeUndefined();
  });

  test('is near its end beyond its own warning, or with half used and a rest that does not last', () => {
    const near = (more: object) => isNearEnd({ ...month, usedShare: 0, ...more }, now);
    expect(near({ usedShare: 0.81 })).toBe(true);
    expect(near({ usedShare: 0.6, warnPercent: 95, since: '2026-10-01' })).toBe(false);
    expect(near({ usedShare: 0.6, warnPercent: 55, since: '2026-10-01' })).toBe(true);
    expect(near({ usedShare: 0.5 })).toBe(true);
    expect(near({ usedShare: 0.4 })).toBe(false);
  });
});

describe('problems', () => {
  const formats = openFormats('de-DE', 'UTC');
  const none = { providers: [], routes: [], health: [], budgets: [], keys: [] };
  const found = (known: Partial<Parameters<typeof alertsOf>[0]>, at = nowMs) =>
    alertsOf({ ...none, ...known }, { formats, period: '24h', nowMs: at });
  const condition = (type: string, status: 'True' | 'False', reason: string, message = '') => ({
    type,
    status,
    reason,
    message,
    lastTransitionTime: '2026-11-22T23:00:00Z',
  });
  const metadata = { namespace: 'platform', name: 'openai' };
  const provider: Provider = {
    metadata,
    spec: { type: 'OpenAI' },
    status: {
      conditions: [
        condition('Ready', 'True', 'Programmed'),
        condition('Healthy', 'False', 'Unhealthy', 'connect_timeout'),
      ],
      keys: [
        { name: 'main', state: 'Active' },
        { name: 'second', state: 'Invalid', message: 'the upstream answers 401' },
        { name: 'third', state: 'RateLimited' },
      ],
    },
  };

  test('names failing providers and keys in cooldown, the worst first', () => {
    expect(found({ providers: [provider] }).map(({ tone, what }) => [tone, what])).toEqual([
      ['bad', 'Provider platform/openai: failing'],
      ['bad', 'Key second of platform/openai: rejected by the upstream'],
      ['warn', 'Key third of platform/openai: cooling down after a rate limit'],
    ]);
  });

  test('names routes in conflict, and drills that failed', () => {
    const route: ModelRoute = {
      metadata: { namespace: 'team-a', name: 'chat' },
      spec: { model: 'chat', targets: [] },
      status: {
        conditions: [
          condition('Ready', 'False', 'ModelConflict'),
          condition('Conflicted', 'True', 'ModelConflict', 'team-a/older has it'),
        ],
        drill: { result: 'Failed', message: 'lower firstEvent', lastRunTime: '2026-11-22T03:00:00Z' },
      },
    };
    expect(found({ routes: [route] }).map(({ what, message }) => [what, message])).toEqual([
      ['Route team-a/chat: conflict', 'team-a/older has it'],
      ['Failover drill of team-a/chat failed', 'lower firstEvent'],
    ]);
  });

  describe('of a route', () => {
    const target = (name: string, state: string, message?: string) => ({
      name,
      state,
      lastTransitionTime: '2026-11-22T23:30:00Z',
      ...(message === undefined ? {} : { message }),
    });
    const specOf = (name: string) => ({
      ...{ name, providerRef: { name: `p-${name}`, namespace: 'platform' }, upstreamModel: 'm' },
    });
    const alertsOfTargets = (
      targets: readonly ReturnType<typeof target>[],
      reason = 'Programmed',
      names: readonly string[] = [],
    ) => {
      const conditions = [condition('Ready', 'True', reason)];
      const metadata = { namespace: 'team-a', name: 'chat' };
      const spec = { model: 'chat', targets: names.map(specOf) };
      return found({ routes: [{ metadata, spec, status: { conditions, targets } }] });
    };
    const [down, spare] = [
      target('main', 'Unhealthy', 'calls to it fail; ask the owner of Provider platform/openai'),
      target('spare', 'Ready'),
    ];

    test('say that no target answers, or only some do', () => {
      expect(alertsOfTargets([down, target('old', 'Drained'), target('more', 'Unhealthy')])).toEqual([
        {
          tone: 'bad',
          what: 'Route team-a/chat: failing',
          message: 'main: calls to it fail; ask the owner of Provider platform/openai',
          since: '2026-11-22T23:30:00Z',
          isLasting: true,
          to: '/routes/team-a/chat',
        },
      ]);
      expect(alertsOfTargets([down, spare], 'Programmed', ['main', 'spare'])).toMatchObject([
        {
          tone: 'warn',
          what: 'Route team-a/chat: degraded',
          message: 'main: calls to it fail; ask the owner of Provider platform/openai; served by spare',
        },
      ]);
    });

    describe('whose first target is at a failing provider', () => {
      const failing: Provider = {
        metadata: { namespace: 'platform', name: 'p-main' },
        spec: { type: 'OpenAI' },
        status: {
          conditions: [
            condition('Ready', 'True', 'Programmed'),
            condition('Healthy', 'False', 'Unhealthy', 'every call fails'),
          ],
        },
      };
      const route = (
        name: string,
        names: readonly string[],
        targets: readonly ReturnType<typeof target>[],
      ) => ({
        metadata: { namespace: 'team-a', name },
        spec: { model: name, targets: names.map(specOf) },
        status: { conditions: [condition('Ready', 'True', 'Programmed')], targets },
      });
      const served = route('chat', ['main', 'spare'], [down, spare]);
      const alone = route('alone', ['main'], [down]);

      test('are one line, a warning as long as another target serves its callers', () => {
        const alerts = found({ providers: [failing], routes: [served] });
        expect(alerts.map(({ tone, what, message }) => [tone, what, message])).toEqual([
          ['warn', 'Provider platform/p-main: failing', 'every call fails; affects chat (served by spare)'],
        ]);
      });

      test('are critical if one model has no other target', () => {
        const alerts = found({ providers: [failing], routes: [served, alone] });
        expect(alerts.map(({ tone, message }) => [tone, message])).toEqual([
          ['bad', 'every call fails; affects chat (served by spare), alone'],
        ]);
        // Not called yet: as its provider is.
        const idle = route('alone', ['main'], [target('main', 'Ready')]);
        expect(found({ providers: [failing], routes: [served, idle] })[0]?.tone).toBe('bad');
      });

      test('are warnings of its calls too, where the ledger says that all callers were answered', () => {
        const calls: HealthRow = {
          ...{ route: 'team-a/gone', requests: 5, attempts: 10, outcomes: { failed: 5, answered: 5 } },
          lastFailedAt: '2026-11-23T00:29:55Z',
        };
        expect(found({ health: [calls] }).map(({ tone }) => tone)).toEqual(['warn']);
        const worse = { ...calls, outcomes: { failed: 6, answered: 4 } };
        expect(found({ health: [worse] }).map(({ tone }) => tone)).toEqual(['bad']);
      });
    });

    test('are none if no target is in use, or the route is suspended', () => {
      expect(alertsOfTargets([])).toEqual([]);
      expect(alertsOfTargets([target('old', 'Drained')])).toEqual([]);
      expect(alertsOfTargets([down], 'Suspended')).toEqual([]);
    });
  });

  const budget: BudgetUse = {
    ...{ namespace: 'team-a', period: 'Month', action: 'Block', warnPercent: 80 },
    ...{ limitUsd: '1000', costUsd: '1000.020000000001', usedShare: 1 },
    ...{ since: '2026-11-01', resetsAt: '2026-12-01T00:00:00.000Z' },
  };

  test('are budgets that are used up, and whether calls are refused', () => {
    const alerts = found({
      budgets: [
        budget,
        { ...budget, apiKey: 'team-a/bot', action: 'Warn' },
        { ...budget, apiKey: 'team-a/other', usedShare: 0.49 },
      ],
    });
    expect(alerts.map(({ what, tone, to }) => [what, tone, to])).toEqual([
      ['Budget of namespace team-a: used up', 'bad', '/keys?namespace=team-a'],
      ['Budget of team-a/bot: used up', 'warn', '/keys/team-a/bot'],
    ]);
    expect(alerts[0]?.message).toBe(
      '1.000,02\u00a0$ of 1.000,00\u00a0$ / month; calls are refused until 1. Dez. 2026, 00:00 UTC',
    );
  });

  test('are budgets near their end, with the day on which they end', () => {
    const [soon, lasts] = found(
      {
        budgets: [
          { ...budget, costUsd: '750', usedShare: 0.75 },
          { ...budget, apiKey: 'team-a/bot', costUsd: '970', usedShare: 0.97, since: '2026-10-01' },
        ],
      },
      Date.parse('2026-11-16T00:00:00Z'),
    );
    expect([soon?.what, soon?.message]).toEqual([
      'Budget of namespace team-a: 75\u00a0% used',
      '750,00\u00a0$ of 1.000,00\u00a0$ / month; at this pace used up on 21. Nov. 2026, 00:00 UTC, in 5 Tagen',
    ]);
    expect(lasts?.message).toContain('used up on 17. Nov. 2026');
  });

  test('are keys that expire within a week, and no others', () => {
    const key = (name: string, expiresAt: string | null) => ({
      namespace: 'team-a',
      name,
      owner: 'Ada',
      expiresAt,
    });
    const keys = [
      key('soon', '2026-11-25T00:30:00Z'),
      key('later', '2026-12-01T00:30:00Z'),
      key('over', '2026-11-22T00:30:00Z'),
      key('never', null),
    ];
    expect(found({ keys }).map(({ what, message, to }) => [what, message, to])).toEqual([
      ['Key team-a/soon expires übermorgen', 'Owner: Ada', '/keys/team-a/soon'],
    ]);
  });

  test('do not include healthy objects', () => {
    const well: Provider = {
      ...provider,
      status: { conditions: [condition('Ready', 'True', 'Programmed')] },
    };
    expect(found({ providers: [well] })).toEqual([]);
  });

  const failing: HealthRow = {
    ...{ provider: 'default/first', upstreamModel: 'sim-x', requests: 39, attempts: 39 },
    outcomes: { failed: 39 },
    lastFailedAt: '2026-11-23T00:29:55Z',
    lastFailure: { request: 'req_86e0', status: 500, failure: 'status_500', cause: 'answered HTTP 500' },
  };

  test('are failing calls, with the last cause and request, and link to the requests', () => {
    expect(found({ health: [failing] })).toEqual([
      {
        tone: 'bad',
        what: 'sim-x at default/first: 39 of 39 attempts failed',
        message: 'Last: answered HTTP 500, req_86e0',
        since: '2026-11-23T00:29:55Z',
        to: '/requests?provider=default%2Ffirst&outcome=failed&period=24h',
      },
    ]);
    const [cutOff] = found({ health: [{ ...failing, outcomes: { 'broken-off': 39 } }] });
    expect(cutOff?.to).toBe('/requests?provider=default%2Ffirst&outcome=broken-off&period=24h');
  });

  test('are failing calls of a route, and link to the requests of its model in the same period', () => {
    const { provider: _, upstreamModel: __, ...calls } = failing;
    const routes = ['one', 'two'].map((name) => ({
      metadata: { namespace: 'team-a', name },
      spec: { model: `model-${name}`, targets: [] },
    }));
    const health = [{ ...calls, route: 'team-a/two' }];
    const [alert] = alertsOf({ ...none, routes, health }, { formats, period: '15m', nowMs });
    expect(alert?.to).toBe('/requests?model=model-two&period=15m');
  });

  test('include failing calls of a held route, but not of a route whose row names the failing targets', () => {
    const { provider: _, upstreamModel: __, ...calls } = failing;
    const route = (name: string, status: NonNullable<ModelRoute['status']>): ModelRoute => ({
      ...{ metadata: { namespace: 'team-a', name }, spec: { model: name, targets: [] }, status },
    });
    const routes = [
      route('held', {
        conditions: [condition('Ready', 'True', 'Programmed'), condition('Stalled', 'True', 'X')],
      }),
      route('down', {
        conditions: [condition('Ready', 'True', 'Programmed')],
        targets: [{ name: 'main', state: 'Unhealthy', message: 'calls to it fail' }],
      }),
    ];
    const health = routes.map(({ metadata: { namespace, name } }) => ({
      ...calls,
      route: `${namespace}/${name}`,
    }));
    expect(
      found({ routes, health })
        .map(({ what }) => what)
        .sort(),
    ).toEqual([
      'Route team-a/down: failing',
      'Route team-a/held: held',
      'team-a/held: 39 of 39 attempts failed',
    ]);
  });

  test('are less urgent if most calls are answered, and come last if the last failure is long ago', () => {
    const rows = [
      { ...failing, upstreamModel: 'old', lastFailedAt: '2026-11-22T20:00:00Z' },
      { ...failing, upstreamModel: 'some', attempts: 390 },
      { ...failing, upstreamModel: 'none', outcomes: { answered: 39 } },
      failing,
    ];
    expect(found({ health: rows }).map(({ tone, what }) => [tone, what.split(' ')[0]])).toEqual([
      ['bad', 'sim-x'],
      ['warn', 'some'],
      ['off', 'old'],
    ]);
  });

  test('name a cause without a status in words', () => {
    const messages = found({
      health: [
        { ...failing, lastFailure: { request: 'r', failure: 'dns_failed' } },
        { ...failing, lastFailure: undefined as never },
      ],
    }).map(({ message }) => message);
    expect(messages).toEqual(['Last: dns failed, r', '']);
  });
});
