// Times in RFC 3339 and UTC, clamped to the years that it can express.

/** 9999-12-31T23:59:59.999Z: what API servers and RFC 3339 can write last. */
export const TIME_MS_MAX = 253_402_300_799_999;

/** @param milliseconds Unix time; values out of range are clamped to the first or last time that can be written. */
export function isoTime(milliseconds: number): string {
  return new Date(Math.min(Math.max(milliseconds, 0), TIME_MS_MAX)).toISOString();
}
