// For how long does a receiver want to be left alone, by its own words? `Retry-After` of RFC 9110 §10.2.3: seconds, or a date.

/** A receiver that asks for more than this is asked again after it: a date that is wrong by years must not hold back bills for years. */
export const retryAfterMsMax = 24 * 3_600_000;

export interface WaitWords {
  readonly 'retry-after'?: string | undefined;
  readonly date?: string | undefined;
}

/** In milliseconds from now; 0 where nothing is asked for, or nothing that can be read. */
export function readRetryAfterMs(headers: WaitWords, nowMs: number): number {
  return Math.min(retryAfterMsMax, Math.max(0, askedMs(headers, nowMs)));
}

function askedMs({ 'retry-after': value = '', date: sent = '' }: WaitWords, nowMs: number): number {
  if (/^\d+(?:\.\d+)?$/.test(value)) return Number(value) * 1_000;
  // With the day of the week, as HTTP writes dates: `Date.parse` takes nearly anything for one.
  const untilMs = /^[a-z]{3,9},? /i.test(value) ? Date.parse(value) : Number.NaN;
  if (Number.isNaN(untilMs)) return 0;
  // Between two dates of one clock: ours may be minutes off.
  const sentMs = Date.parse(sent);
  return untilMs - (Number.isNaN(sentMs) ? nowMs : sentMs);
}
