// Which days and intervals does a period ask the ledger for? It knows whole hours and days, in UTC.

export const PERIODS = ['1h', '24h', '7d', '30d'] as const;
export type Period = (typeof PERIODS)[number];

export interface PeriodQuery {
  /** First day, `2026-11-23`. */
  readonly from: string;
  /** The day after the last. */
  readonly to: string;
  readonly interval: 'hour' | 'day';
  /** Starts of the intervals that are shown, in order, as the ledger names them. */
  readonly starts: readonly string[];
  /** Whether the answer for all days is the answer for the period. */
  readonly isWholeDays: boolean;
}

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** The interval that now is in counts as one of the period; an hour is the present one and the one before. */
export function periodQuery(period: Period, nowMs: number): PeriodQuery {
  const isWholeDays = period === '7d' || period === '30d';
  const stepMs = isWholeDays ? dayMs : hourMs;
  const count = { '1h': 2, '24h': 24, '7d': 7, '30d': 30 }[period];
  const lastMs = Math.floor(nowMs / stepMs) * stepMs;
  const starts = Array.from({ length: count }, (_, at) => lastMs - (count - 1 - at) * stepMs);
  return {
    from: dayOf(starts[0] ?? lastMs),
    to: dayOf(lastMs + dayMs),
    interval: isWholeDays ? 'day' : 'hour',
    starts: starts.map((ms) =>
      isWholeDays ? dayOf(ms) : `${new Date(ms).toISOString().slice(0, 13)}:00:00Z`,
    ),
    isWholeDays,
  };
}

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}
