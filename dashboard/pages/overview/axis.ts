// Where do the lines and labels of a chart stand? At round values and round times. Pure.

import type { PeriodQuery } from './period.ts';

/** From 0 to at least `most`: one, two or five of a power of ten apart. @param isWhole of counts: nothing between two of them. */
export function valueTicks(most: number, isWhole = false, spacesMax = 4): readonly number[] {
  if (!(most > 0)) return [0];
  const rough = Math.max(most / spacesMax, isWhole ? 1 : 0);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5].find((times) => times * power >= rough * (1 - 1e-9)) ?? 10) * power;
  const spaces = Math.ceil(most / step - 1e-9);
  return Array.from({ length: spaces + 1 }, (_, at) => Number((at * step).toPrecision(12)));
}

const steps = { minute: [1, 2, 5, 10, 15, 30], hour: [1, 2, 3, 6, 12], day: [1, 2, 7] } as const;
const stepMs = { minute: 60_000, hour: 3_600_000, day: 86_400_000 } as const;

/**
 * Places of the starts that have a label: every 5 minutes, 6 hours or 7 days of the reader's clock, so that at most so many fit.
 *
 * @param zoneMinutes how far the reader's clock is ahead of UTC at that moment.
 */
export function timeTicks(
  { starts, interval }: Pick<PeriodQuery, 'starts' | 'interval'>,
  labelsMax: number,
  zoneMinutes = (ms: number) => -new Date(ms).getTimezoneOffset(),
): readonly number[] {
  const placesOf = (step: number) =>
    starts.flatMap((start, at) => {
      const ms = Date.parse(start);
      // Days are those of the ledger, in UTC; each seventh is a Monday.
      const clockMs = interval === 'day' ? ms + 3 * stepMs.day : ms + zoneMinutes(ms) * 60_000;
      return Math.floor(clockMs / stepMs[interval]) % step === 0 ? [at] : [];
    });
  const all = steps[interval].map(placesOf);
  return all.find(({ length }) => length <= Math.max(1, labelsMax)) ?? all.at(-1) ?? [];
}
