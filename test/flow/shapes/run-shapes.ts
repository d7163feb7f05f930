// How do all sixteen shapes of one mode run, and what do their verdicts look like in a line?

import { House } from '../house.ts';
import { shapes } from '../shapes.ts';
import { runShape, type ShapeResult } from './run-shape.ts';
import type { ShapeMode, Timing, Verdict } from './shape.ts';

/**
 * Side by side, each with walls and a gateway of its own.
 *
 * @param atOnce So many at the same time.
 */
export async function runShapes(
  mode: ShapeMode,
  timing: Timing,
  atOnce = 4,
): Promise<readonly ShapeResult[]> {
  // The longest first, so that it is not waited for alone.
  const waiting = [...shapes].sort((a, b) => b.limitMs - a.limitMs);
  const results: ShapeResult[] = [];
  const worker = async (): Promise<void> => {
    for (let shape = waiting.shift(); shape !== undefined; shape = waiting.shift()) {
      const house = new House();
      try {
        results.push(await runShape(house, shape, mode, timing));
      } finally {
        await house.close();
      }
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return results.sort((a, b) => a.id.localeCompare(b.id));
}

export function countVerdicts(results: readonly ShapeResult[]): Record<Verdict, number> {
  const counts: Record<Verdict, number> = { pass: 0, partial: 0, safe: 0, fail: 0 };
  for (const { verdict } of results) counts[verdict] += 1;
  return counts;
}

/** One line: verdict, calls, time of the longest request, and which checks did not hold. */
export function writeVerdict({ id, mode, verdict, missed, calls, longestMs }: ShapeResult): string {
  const seconds = (longestMs / 1000).toFixed(1);
  const why = missed.length === 0 ? '' : `; not: ${missed.join(', ')}`;
  return `${id} ${mode} ${verdict}: ${calls.first} + ${calls.fallback} calls, ${seconds} s${why}`;
}
