// Which stretches of time is a question about? Days and hours are named as sums have them; anything else is found by when attempts began.

export const INTERVALS = ['day', 'hour', 'minute'] as const;
export type Interval = (typeof INTERVALS)[number];

export const intervalMs: Readonly<Record<Interval, number>> = {
  day: 86_400_000,
  hour: 3_600_000,
  minute: 60_000,
};

/** A stretch of time. Days `2026-11-01`, or moments `2026-11-01T10:00:00Z`; UTC. */
export interface Stretch {
  /** The first. */
  readonly from: string;
  /** The first that is left out. */
  readonly to: string;
}

/** More spans are not named one by one. */
const spansMax = 800;

/** The name of the day, hour or minute that a moment is in, Unix milliseconds. */
export function spanAt(ms: number, interval: Interval): string {
  const text = new Date(ms).toISOString();
  switch (interval) {
    case 'day':
      return text.slice(0, 10);
    case 'hour':
      return `${text.slice(0, 13)}:00:00Z`;
    case 'minute':
      return `${text.slice(0, 16)}:00Z`;
  }
}

export function boundsOf({ from, to }: Stretch): { readonly fromMs: number; readonly toMs: number } {
  return { fromMs: Date.parse(from), toMs: Date.parse(to) };
}

/** Whether it begins and ends where such intervals do. */
export function isWhole(stretch: Stretch, interval: Interval): boolean {
  const { fromMs, toMs } = boundsOf(stretch);
  return fromMs % intervalMs[interval] === 0 && toMs % intervalMs[interval] === 0;
}

/** All that it touches, by their names; undefined: they are too many. */
export function spansIn(stretch: Stretch, interval: Interval): readonly string[] | undefined {
  const { fromMs, toMs } = boundsOf(stretch);
  const step = intervalMs[interval];
  const firstMs = Math.floor(fromMs / step) * step;
  const count = Math.ceil((toMs - firstMs) / step);
  if (count > spansMax) return undefined;
  return Array.from({ length: Math.max(0, count) }, (_, at) => spanAt(firstMs + at * step, interval));
}

/** The whole days that it touches. */
export function daysAround(stretch: Stretch): Stretch {
  const { fromMs, toMs } = boundsOf(stretch);
  return { from: spanAt(fromMs, 'day'), to: spanAt(toMs + intervalMs.day - 1, 'day') };
}

/** The whole minutes that it touches. */
export function minutesAround(stretch: Stretch): Stretch {
  const { fromMs, toMs } = boundsOf(stretch);
  return { from: spanAt(fromMs, 'minute'), to: spanAt(toMs + intervalMs.minute - 1, 'minute') };
}
