// Which minutes, hours or days does a period ask the ledger for, and which period is shown first? Whole ones, in UTC. Pure.

export const PERIODS = ['15m', '1h', '24h', '7d', '30d'] as const;
export type Period = (typeof PERIODS)[number];

export const PERIOD_LABELS: Readonly<Record<Period, string>> = {
  '15m': '15 min',
  '1h': '1 h',
  '24h': '24 h',
  '7d': '7 days',
  '30d': '30 days',
};

export interface PeriodQuery {
  /** First interval, `2026-11-23` or `2026-11-23T10:00:00Z`. */
  readonly from: string;
  /** The one after the last. */
  readonly to: string;
  readonly interval: 'minute' | 'hour' | 'day';
  /** Starts of the intervals that are shown, in order, as the ledger names them. */
  readonly starts: readonly string[];
}

const stepsMs = { minute: 60_000, hour: 3_600_000, day: 86_400_000 } as const;
const columns = {
  '15m': { interval: 'minute', count: 15 },
  '1h': { interval: 'minute', count: 60 },
  '24h': { interval: 'hour', count: 24 },
  '7d': { interval: 'day', count: 7 },
  '30d': { interval: 'day', count: 30 },
} as const;

/** The interval that now is in is the last of the period. */
export function periodQuery(period: Period, nowMs: number): PeriodQuery {
  const { interval, count } = columns[period];
  const stepMs = stepsMs[interval];
  const lastMs = Math.floor(nowMs / stepMs) * stepMs;
  const nameOf = (ms: number) =>
    interval === 'day'
      ? new Date(ms).toISOString().slice(0, 10)
      : `${new Date(ms).toISOString().slice(0, 16)}:00Z`;
  const starts = Array.from({ length: count }, (_, at) => nameOf(lastMs - (count - 1 - at) * stepMs));
  return { from: starts[0] ?? nameOf(lastMs), to: nameOf(lastMs + stepMs), interval, starts };
}

/** How many requests there were in each interval, by its start. */
interface Filled {
  readonly start: string;
  readonly requests: number;
}

/** Where a period holds so much of what a longer one does, the longer one would be an empty chart with a column at its edge. */
const most = 0.9;

/**
 * The shortest period that holds the data: of the last day; where that has none, of the last thirty.
 *
 * @returns undefined where nothing was ever asked for.
 */
export function periodThatHolds(
  minutes: readonly Filled[],
  hours: readonly Filled[],
  days: readonly Filled[],
  nowMs: number,
): Period | undefined {
  const sumOf = (rows: readonly Filled[], period: Period) => {
    const { from } = periodQuery(period, nowMs);
    return rows.reduce((sum, { start, requests }) => (start >= from ? sum + requests : sum), 0);
  };
  const [quarter, hour, day] = [sumOf(minutes, '15m'), sumOf(minutes, '1h'), sumOf(hours, '24h')];
  const [week, month] = [sumOf(days, '7d'), sumOf(days, '30d')];
  if (day > 0 || hour > 0) {
    if (quarter >= day * most) return '15m';
    return hour >= day * most ? '1h' : '24h';
  }
  if (month === 0) return undefined;
  return week >= month * most ? '7d' : '30d';
}
