// After which time does a server accept a retry, by its own words?

interface WaitWords {
  readonly 'retry-after'?: string | undefined;
  readonly date?: string | undefined;
}

/**
 * `Retry-After` as seconds or as a date (RFC 9110 §10.2.3), in milliseconds from now, never below 0; undefined if nothing that can be
 * read is asked for.
 */
export function readRetryAfterMs(headers: WaitWords, nowMs: number): number | undefined {
  const value = headers['retry-after'];
  if (!value) return undefined;
  const seconds = Number(value);
  if (Number.isFinite(seconds)) return Math.max(0, seconds * 1_000);
  const untilMs = beginsAsDate.test(value) ? Date.parse(value) : Number.NaN;
  if (Number.isNaN(untilMs)) return undefined;
  // Between two dates of one clock: by ours, which may be minutes off, the wait would be far too long or none.
  const sentMs = Date.parse(headers.date ?? '');
  return Math.max(0, untilMs - (Number.isNaN(sentMs) ? nowMs : sentMs));
}

/** With the day of the week, or with the year. `Date.parse` takes nearly anything for a date: `12, 12`, two headers that were joined, is one of 2001. */
const beginsAsDate = /^(?:[a-z]{3,9},? |\d{4}-)/i;
