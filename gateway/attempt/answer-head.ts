// What does the head of an upstream's answer say: can its body be read as what was asked for, and when may it be asked again?

import { readRetryAfterMs } from '../../egress/retry-after.ts';
import { codingsOf } from './content-coding.ts';

/** Says what is wrong with the head of a 200, if anything. */
export function judgeHead(
  header: (name: string) => string | undefined,
  reader: 'stream' | 'gathered' | 'plain',
): string | undefined {
  const codings = codingsOf(header('content-encoding'));
  if (codings.length > 0) {
    return `the answer is encoded as ${nameOnly(codings.join(', '))}, which was not asked for`;
  }
  // Case-insensitive (RFC 9110, section 8.3.1).
  const type = (header('content-type') ?? '').toLowerCase();
  const wanted = reader === 'plain' ? 'json' : 'text/event-stream';
  return type === '' || type.includes(wanted) ? undefined : `the answer is ${nameOnly(type)}, not ${wanted}`;
}

/** Callers read it: of what an upstream writes into a header, the names alone, and not many of them. */
function nameOnly(value: string): string {
  const [name = ''] = /^[\w!#$&^.+/, -]{1,60}/.exec(value) ?? [];
  return name.trim() || 'something without a name';
}

/** `retry-after-ms`, which the OpenAI API sends and its SDKs read, else `Retry-After`; in milliseconds from now. */
export function readRestMs(header: (name: string) => string | undefined, nowMs: number): number | undefined {
  const milliseconds = header('retry-after-ms');
  if (milliseconds && Number.isFinite(Number(milliseconds))) return Math.max(0, Number(milliseconds));
  return readRetryAfterMs({ 'retry-after': header('retry-after'), date: header('date') }, nowMs);
}
