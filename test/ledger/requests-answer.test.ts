// What is said of requests, out of what was counted?

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { requestsAnswer } from '../../ledger/read-api/requests.ts';
import type { EndsRow, FirstContentRow, SumsRow } from '../../ledger/store/store.ts';

const requests = (counts: Readonly<Record<string, number>>) =>
  Object.entries(counts).map(([day, requests]) => ({ group: { day }, sums: { requests } }) as SumsRow);
const end = (interval: string, outcome: string, count: number, failure = ''): EndsRow => ({
  interval,
  outcome,
  failure,
  requests: count,
});
const first = (interval: string, ms: number, answers: number): FirstContentRow => ({ interval, ms, answers });

test('failed, broken and interrupted requests are errors; refused and cancelled ones are not', () => {
  const ends = [
    end('mon', 'failed', 1, 'status_500'),
    end('mon', 'failed', 2, 'status_400'),
    end('mon', 'broken-off', 3, 'truncated'),
    end('tue', 'cancelled', 4),
    end('tue', 'interrupted', 5),
  ];
  const { total, rows } = requestsAnswer('day', requests({ mon: 10, tue: 20 }), ends, []);
  expect(rows).toEqual([
    {
      day: 'mon',
      requests: 10,
      outcomes: { answered: 4, refused: 2, failed: 1, 'broken-off': 3, cancelled: 0, interrupted: 0 },
      errorRate: 0.4,
    },
    {
      day: 'tue',
      requests: 20,
      outcomes: { answered: 11, refused: 0, failed: 0, 'broken-off': 0, cancelled: 4, interrupted: 5 },
      errorRate: 0.25,
    },
  ]);
  expect(total).toEqual({
    requests: 30,
    outcomes: { answered: 15, refused: 2, failed: 1, 'broken-off': 3, cancelled: 4, interrupted: 5 },
    errorRate: 0.3,
  });
});

test.each([
  ['status_400', 'refused'],
  ['status_413', 'refused'],
  ['status_422', 'refused'],
  ['status_4xx', 'refused'],
  // Its key, its money, its model, its load: the platform's to mend, or nobody's.
  ['status_401', 'failed'],
  ['status_402', 'failed'],
  ['status_403', 'failed'],
  ['status_404', 'failed'],
  ['status_408', 'failed'],
  ['status_429', 'failed'],
  ['status_500', 'failed'],
  ['timeout_first_event', 'failed'],
  ['', 'failed'],
])('a last attempt that ended with %j is a request that was %s', (failure, wanted) => {
  const { total } = requestsAnswer('day', requests({ mon: 1 }), [end('mon', 'failed', 1, failure)], []);
  expect(total.outcomes).toMatchObject({ answered: 0, [wanted]: 1 });
});

test('records that arrive between two questions make no number negative, and no rate above one', () => {
  const { total } = requestsAnswer('day', requests({ mon: 1 }), [end('mon', 'failed', 2)], []);
  expect(total).toMatchObject({ outcomes: { answered: 0, failed: 2 }, errorRate: 1 });
});

test('without a request there is no rate', () => {
  expect(requestsAnswer('hour', [], [], [])).toMatchObject({
    total: { requests: 0, errorRate: 0 },
    rows: [],
  });
});

describe('the times to first content', () => {
  test('of an interval without a stream are left out, those of all are over the whole period', () => {
    const { total, rows } = requestsAnswer(
      'day',
      requests({ mon: 1, tue: 1 }),
      [],
      [first('mon', 900, 1), first('mon', 100, 98), first('tue', 50, 101)],
    );
    expect(rows[0]).toMatchObject({ firstContentMs: { answers: 99, p50: 100, p90: 100, p99: 900 } });
    expect(total.firstContentMs).toEqual({ answers: 200, p50: 50, p90: 100, p99: 100 });
    expect(requestsAnswer('day', requests({ mon: 1 }), [], []).rows[0]).not.toHaveProperty('firstContentMs');
  });

  test('within a percentile are exactly as many as it says', () => {
    const times = fc.array(fc.nat({ max: 50 }), { minLength: 1, maxLength: 200 });
    fc.assert(
      fc.property(times, (all) => {
        const rows = all.map((ms) => first('mon', ms, 1));
        const { firstContentMs } = requestsAnswer('day', requests({ mon: 1 }), [], rows).total;
        for (const [percent, ms = -1] of [
          [50, firstContentMs?.p50],
          [90, firstContentMs?.p90],
          [99, firstContentMs?.p99],
        ] as const) {
          const needed = (all.length * percent) / 100;
          expect(all.filter((one) => one <= ms).length).toBeGreaterThanOrEqual(needed);
          expect(all.filter((one) => one < ms).length).toBeLessThan(needed);
        }
      }),
    );
  });
});
