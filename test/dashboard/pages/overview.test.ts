// Do the figures of the overview add up, and do its sentences say what went wrong?

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { monthOf, PERIODS, periodQuery } from '../../../dashboard/pages/overview/period.ts';
import { stackRows, upperEdges } from '../../../dashboard/pages/overview/stack.ts';
import { requestTotals } from '../../../dashboard/pages/overview/totals.ts';
import { failedWords, troublesOf } from '../../../dashboard/pages/overview/went-wrong.ts';
import { openFormats } from '../../../dashboard/pages/words/format.ts';
import type { ModelRoute, Provider } from '../../../dashboard/pages/words/kube.ts';
import { readParameters } from '../../../ledger/read-api/parameters.ts';

const nowMs = Date.parse('2026-11-23T00:30:00Z');

describe('a period', () => {
  test('of an hour is sixty minutes, and not the hours that it touches', () => {
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

  test('asks for what it shows and for nothing else, by no more than the ledger tells', () => {
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

  test('the month begins with its first day, also on its 31st', () => {
    expect(monthOf(Date.parse('2026-12-31T23:59:59Z'))).toBe('2026-12-01');
  });
});

describe('stacked columns', () => {
  const row = fc.record({
    start: fc.constantFrom('a', 'b', 'c', 'elsewhere'),
    group: fc.constantFrom('x', 'y', 'z', undefined),
    value: fc.nat(1000),
  });

  test('lose nothing of what is within', () => {
    fc.assert(
      fc.property(fc.array(row), (rows) => {
        const stack = stackRows(rows, ['a', 'b', 'c']);
        const within = rows
          .filter(({ start }) => start !== 'elsewhere')
          .reduce((sum, { value }) => sum + value, 0);
        expect(stack.total).toBe(within);
        const heights = upperEdges(stack).at(-1) ?? [];
        expect(heights.reduce((sum, height) => sum + height, 0)).toBe(within);
      }),
    );
  });

  test('the largest stands first, and all others at the end, however much they are', () => {
    const rows = ['x', 'y', undefined].map((group, at) => ({ start: 'a', group, value: at + 1 }));
    expect(stackRows(rows, ['a']).groups).toEqual([
      { name: 'y', isRest: false, total: 2, values: [2] },
      { name: 'x', isRest: false, total: 1, values: [1] },
      { name: 'All others', isRest: true, total: 3, values: [3] },
    ]);
  });
});

describe('totals', () => {
  const row = (requests: number, failed: number, p50: number) => ({
    requests,
    outcomes: { answered: requests - failed, failed, 'broken-off': 1 },
    errorRate: 0,
    firstContentMs: { answers: requests, p50, p90: p50 * 2, p99: p50 * 3 },
  });

  test('are what the ledger says of the whole time: percentiles of its parts cannot be added up', () => {
    const answer = { total: row(1000, 9, 400), rows: [{ day: 'a', ...row(1, 1, 1) }] };
    expect(requestTotals(answer)).toMatchObject({
      requests: 1000,
      errors: 10,
      errorRate: 0.01,
      firstContentMs: { p50: 400, p90: 800 },
    });
  });

  test('where nothing was asked there is no error and no waiting', () => {
    const nothing = { requests: 0, outcomes: {}, errorRate: 0 };
    const totals = requestTotals({ total: nothing, rows: [] });
    expect(totals).toEqual({
      requests: 0,
      errors: 0,
      refused: 0,
      errorRate: 0,
      firstContentMs: undefined,
    });
  });
});

describe('what went wrong lately', () => {
  const { money } = openFormats('de-DE', 'UTC');
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

  test('names providers that do not answer and keys that rest, what is worse first', () => {
    expect(troublesOf([provider], [], [], money).map(({ tone, what }) => [tone, what])).toEqual([
      ['bad', 'Provider platform/openai: unhealthy'],
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
    expect(troublesOf([], [route], [], money).map(({ what, message }) => [what, message])).toEqual([
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
    const told = (targets: readonly ReturnType<typeof target>[], reason = 'Programmed') => {
      const conditions = [condition('Ready', 'True', reason)];
      const metadata = { namespace: 'team-a', name: 'chat' };
      const spec = { model: 'chat', targets: [] };
      return troublesOf([], [{ metadata, spec, status: { conditions, targets } }], [], money);
    };
    const [down, spare] = [
      target('main', 'Unhealthy', 'calls to it fail; ask the owner of Provider platform/openai'),
      target('spare', 'Ready'),
    ];

    test('says that no target answers, which no condition of it does', () => {
      expect(told([down, target('old', 'Drained'), target('more', 'Unhealthy')])).toEqual([
        {
          tone: 'bad',
          what: 'Route team-a/chat: no target answers',
          message: 'main: calls to it fail; ask the owner of Provider platform/openai',
          since: '2026-11-22T23:30:00Z',
          of: { kind: 'routes', namespace: 'team-a', name: 'chat' },
        },
      ]);
    });

    test('says nothing while another target answers, where none is in use, and where it is suspended', () => {
      expect(told([down, spare])).toEqual([]);
      expect(told([])).toEqual([]);
      expect(told([target('old', 'Drained')])).toEqual([]);
      expect(told([down], 'Suspended')).toEqual([]);
    });
  });

  test('names budgets that are used up, and says whether calls are refused', () => {
    const budget = {
      namespace: 'team-a',
      period: 'Month',
      action: 'Block',
      limitUsd: '1000',
      costUsd: '1000.020000000001',
      usedShare: 1,
    };
    const troubles = troublesOf(
      [],
      [],
      [
        budget,
        { ...budget, apiKey: 'team-a/bot', action: 'Warn' },
        { ...budget, apiKey: 'team-a/other', usedShare: 0.99 },
      ],
      money,
    );
    expect(troubles.map(({ what, tone, of }) => [what, tone, of?.name])).toEqual([
      ['Budget of namespace team-a is used up', 'bad', undefined],
      ['Budget of team-a/bot is used up', 'warn', 'bot'],
    ]);
    expect(troubles[0]?.message).toBe('1.000,02\u00a0$ of 1.000,00\u00a0$ for this month; calls are refused');
  });

  test('of what is well says nothing', () => {
    const well: Provider = {
      ...provider,
      status: { conditions: [condition('Ready', 'True', 'Programmed')] },
    };
    expect(troublesOf([well], [], [], money)).toEqual([]);
  });

  test('of attempts says how many failed and were further ones, and of none that it was made good', () => {
    // Each of a hundred requests failed at one and then at the other.
    const outcomes = { answered: 0, failed: 100, 'broken-off': 0, cancelled: 0, interrupted: 0 };
    const first = { provider: 'platform/a', upstreamModel: 'm', requests: 100, attempts: 100, outcomes };
    const second = { ...first, provider: 'platform/b', requests: 0 };
    const both = { route: 'team/m', requests: 100, attempts: 200, outcomes: { ...outcomes, failed: 200 } };
    expect([first, second, both].map((row) => failedWords(row, String))).toEqual([
      { name: 'm at platform/a', failed: '100 of 100 attempts failed', further: '' },
      {
        name: 'm at platform/b',
        failed: '100 of 100 attempts failed',
        further: '100 were retries · ',
      },
      {
        name: 'team/m',
        failed: '200 of 200 attempts failed',
        further: '100 were retries · ',
      },
    ]);
  });
});
