// How did requests end, and how long did their first words take? Pure: out of what the store has counted, for each interval and for all.

import type { Interval } from '../store/spans.ts';
import type { EndsRow, FirstContentRow, SumsRow } from '../store/store.ts';

interface Counted {
  requests: number;
  readonly ends: EndsRow[];
  readonly firstContents: FirstContentRow[];
}

/** @param requests By interval. */
export function requestsAnswer(
  interval: Interval,
  requests: readonly SumsRow[],
  ends: readonly EndsRow[],
  firstContents: readonly FirstContentRow[],
) {
  const all: Counted = { requests: 0, ends: [...ends], firstContents: [...firstContents] };
  const intervals = new Map<string, Counted>();
  for (const { group, sums } of requests) {
    all.requests += sums.requests;
    intervals.set(group[interval] ?? '', { requests: sums.requests, ends: [], firstContents: [] });
  }
  for (const row of ends) intervals.get(row.interval)?.ends.push(row);
  for (const row of firstContents) intervals.get(row.interval)?.firstContents.push(row);
  return {
    total: countedAnswer(all),
    rows: [...intervals].map(([start, counted]) => ({ [interval]: start, ...countedAnswer(counted) })),
  };
}

function countedAnswer({ requests, ends, firstContents }: Counted) {
  const outcomes = { refused: 0, failed: 0, 'broken-off': 0, cancelled: 0, interrupted: 0 };
  for (const { outcome, failure, requests } of ends) {
    const end = outcome === 'failed' && isRefusal(failure) ? 'refused' : outcome;
    if (Object.hasOwn(outcomes, end)) outcomes[end as keyof typeof outcomes] += requests;
  }
  const unanswered = Object.values(outcomes).reduce((sum, count) => sum + count, 0);
  const errors = outcomes.failed + outcomes['broken-off'] + outcomes.interrupted;
  return {
    requests,
    // Records may come in between two questions to the store.
    outcomes: { answered: Math.max(0, requests - unanswered), ...outcomes },
    errorRate: requests === 0 ? 0 : Math.min(1, Math.round((errors / requests) * 1e6) / 1e6),
    ...firstContentAnswer(firstContents),
  };
}

/** Statuses with which an upstream says something of itself, of its key or of the route, and nothing of the request. */
const notOfTheRequest = new Set(['401', '402', '403', '404', '408', '409', '425', '429', '499']);

/** The upstream refused the request itself: only the caller can correct it. */
function isRefusal(failure: string): boolean {
  const [, status] = /^status_(4..)$/.exec(failure) ?? [];
  return status !== undefined && !notOfTheRequest.has(status);
}

/** Nothing where no stream has begun. */
export function firstContentAnswer(rows: readonly Pick<FirstContentRow, 'ms' | 'answers'>[]) {
  const inOrder = rows.toSorted((a, b) => a.ms - b.ms);
  const answers = inOrder.reduce((sum, row) => sum + row.answers, 0);
  if (answers === 0) return {};
  /** The least time within which so many percent had begun. */
  const percentile = (percent: number): number => {
    let left = Math.ceil((answers * percent) / 100);
    for (const row of inOrder) {
      left -= row.answers;
      if (left <= 0) return row.ms;
    }
    return inOrder.at(-1)?.ms ?? 0;
  };
  return { firstContentMs: { answers, p50: percentile(50), p90: percentile(90), p99: percentile(99) } };
}
