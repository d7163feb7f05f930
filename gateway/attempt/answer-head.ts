// What does the head of an upstream's answer say: can its body be read as what was asked for, and when may it be asked again?

import { readRetryAfterMs } from '../../egress/retry-after.ts';

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

/** `retry-after-ms`, which the OpenAI API sends and its SDKs read, else `Retry-After`; in milliseconds from now. */
export function readRestMs(header: (name: string) => string | undefined, nowMs: number): number | undefined {
  const milliseconds = header('retry-after-ms');
  if (milliseconds && Number.isFinite(Number(milliseconds))) return Math.max(0, Number(milliseconds));
  return readRetryAfterMs({ 'retry-after': header('retry-after'), date: header('date') }, nowMs);
}
