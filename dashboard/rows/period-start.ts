// When did the period begin that a moment is in? Days, weeks from Monday, and months, all of UTC, as budgets are counted.

const dayMs = 86_400_000;

/** Unix milliseconds; of what has no end, `Total`, before all time. */
export function periodStartMs(period: string, atMs: number): number {
  const midnightMs = Math.floor(atMs / dayMs) * dayMs;
  const date = new Date(midnightMs);
  switch (period) {
    case 'Day':
      return midnightMs;
    case 'Week':
      return midnightMs - ((date.getUTCDay() + 6) % 7) * dayMs;
    case 'Month':
      return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1);
    default:
      return Number.NEGATIVE_INFINITY;
  }
}
