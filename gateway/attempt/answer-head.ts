// What does the head of an upstream's answer say: can its body be read as what was asked for, and when may it be asked again?

import { readRetryAfterMs } from '../../egress/retry-after.ts';
import { codingsOf } from './content-coding.ts';

/** Says what is wrong with the head of a 200, if anything. */
export function judgeHead(header: (name: string) => string | undefined): string | undefined {
  const named = codingsOf(header('content-encoding'));
  if (named.length > 0) {
    return `the answer is encoded as ${nameOf(named.join(', '), codings)}, which was not asked for`;
  }
  // Case-insensitive (RFC 9110, section 8.3.1).
  const type = (header('content-type') ?? '').toLowerCase();
  // Servers send one in place of the other: which of them a body is, it says itself.
  return type === '' || readTypes.some((read) => type.includes(read))
    ? undefined
    : `the answer is ${nameOf(type, mediaType)}, neither JSON nor a stream of events`;
}

const readTypes = ['json', 'text/event-stream'];

/** Callers read it: of what an upstream writes into a header, only what has the form of a name. */
function nameOf(value: string, form: RegExp): string {
  return form.exec(value)?.[0] ?? 'something without a name';
}

const mediaType = /^(?:application|audio|image|multipart|text|video)\/[a-z\d.+-]{1,40}/;
const codings = /^[a-z\d-]{1,16}(?:, [a-z\d-]{1,16}){0,3}$/;

/** `retry-after-ms`, which the OpenAI API sends and its SDKs read, else `Retry-After`; in milliseconds from now. */
export function readRestMs(header: (name: string) => string | undefined, nowMs: number): number | undefined {
  const milliseconds = header('retry-after-ms');
  if (milliseconds && Number.isFinite(Number(milliseconds))) return Math.max(0, Number(milliseconds));
  return readRetryAfterMs({ 'retry-after': header('retry-after'), date: header('date') }, nowMs);
}
