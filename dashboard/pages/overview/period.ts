// Which minutes, hours or days does a period ask the ledger for? Whole ones, in UTC.

export const PERIODS = ['1h', '24h', '7d', '30d'] as const;
export type Period = (typeof PERIODS)[number];

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

/** Its first day, in UTC: thirty days are not enough for all who spent in it. */
export function monthOf(nowMs: number): string {
  return `${new Date(nowMs).toISOString().slice(0, 7)}-01`;
}
