// How long is `1m30s`? Durations as Kubernetes and Go write them, as whole milliseconds.

import { z } from 'zod';
import { withRules } from './rule.ts';

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };
const DURATION = /^([0-9]{1,7}(\.[0-9]{1,3})?(ms|s|m|h))+$/;
const PART = /([0-9]+(?:\.[0-9]+)?)(ms|s|m|h)/g;

/** The length in milliseconds, rounded; undefined where the text is no duration. */
export function durationMs(text: string): number | undefined {
  if (!DURATION.test(text)) return undefined;
  let sum = 0;
  for (const [, amount, unit] of text.matchAll(PART)) sum += Number(amount) * (UNIT_MS[unit ?? ''] ?? 0);
  return Math.round(sum);
}

/**
 * The length in milliseconds of a text that its schema has already checked.
 *
 * @throws {RangeError} where it is no duration: then a schema let something through.
 */
export function toMs(text: string): number {
  const milliseconds = durationMs(text);
  if (milliseconds === undefined) throw new RangeError(`"${text}" is not a duration such as 30s or 500ms`);
  return milliseconds;
}

/** A duration field between two lengths, both included. */
export function durationField(min: string, max: string) {
  const text = z.string().max(20).regex(DURATION, 'must be a duration such as 500ms, 30s, 1m30s or 2160h');
  return withRules(text, [
    {
      cel: `duration(self) >= duration('${min}') && duration(self) <= duration('${max}')`,
      message: `must be between ${min} and ${max}`,
      check: (value) => toMs(value) >= toMs(min) && toMs(value) <= toMs(max),
    },
  ]);
}
