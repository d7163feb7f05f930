// What does the head of an upstream's answer say: can its body be read as what was asked for, and when may it be asked again?

/** Says what is wrong with the head of a 200, if anything. */
export function judgeHead(
  header: (name: string) => string | undefined,
  reader: 'stream' | 'gathered' | 'plain',
): string | undefined {
  // Both are case-insensitive (RFC 9110, sections 8.3.1 and 8.4.1).
  const encoding = header('content-encoding')?.toLowerCase();
  if (encoding !== undefined && encoding !== 'identity') {
    return `the answer is encoded as ${encoding}, which was not asked for`;
  }
  const type = (header('content-type') ?? '').toLowerCase();
  const wanted = reader === 'plain' ? 'json' : 'text/event-stream';
  return type === '' || type.includes(wanted)
    ? undefined
    : `the answer is ${type.slice(0, 80)}, not ${wanted}`;
}

/** `retry-after-ms`, else seconds or an HTTP date (RFC 9110 §10.2.3), in milliseconds from now. */
export function readRetryAfterMs(
  header: (name: string) => string | undefined,
  nowMs: number,
): number | undefined {
  const milliseconds = header('retry-after-ms');
  if (milliseconds && Number.isFinite(Number(milliseconds))) return Math.max(0, Number(milliseconds));
  const value = header('retry-after');
  if (!value) return undefined;
  const seconds = Number(value);
  if (Number.isFinite(seconds)) return Math.max(0, seconds * 1000);
  const date = beginsAsDate.test(value) ? Date.parse(value) : Number.NaN;
  if (Number.isNaN(date)) return undefined;
  // Between two dates of one clock: by ours, which may be minutes off, a key would rest far too long or not at all.
  const sentAt = Date.parse(header('date') ?? '');
  return Math.max(0, date - (Number.isNaN(sentAt) ? nowMs : sentAt));
}

/** With the day of the week, or with the year. `Date.parse` takes nearly anything for a date: `12, 12`, two headers that were joined, is one of 2001. */
const beginsAsDate = /^(?:[a-z]{3,9},? |\d{4}-)/i;
