// What does the head of an upstream's answer say: can its body be read as what was asked for, and when may it be asked again?

import { readRetryAfterMs } from '../../core/egress/retry-after.ts';
import type { HeaderReader } from './attempt-io.ts';
import { codingsOf } from './content-coding.ts';

/**
 * The fault of the head of a 200, if it has one.
 *
 * @param streamType The media type that its streams have.
 */
export function judgeHead(
  header: (name: string) => string | undefined,
  streamType: string,
): string | undefined {
  const named = codingsOf(header('content-encoding'));
  if (named.length > 0) {
    return `the answer is encoded as ${nameOf(named.join(', '), codings)}, which was not requested`;
  }
  // Case-insensitive (RFC 9110, section 8.3.1).
  const type = (header('content-type') ?? '').toLowerCase();
  // Servers send one in place of the other: which of them a body is, it says itself.
  return type === '' || type.includes('json') || type.includes(streamType)
    ? undefined
    : `the answer is ${nameOf(type, mediaType)}, neither JSON nor a stream of events`;
}

/** Callers read it: of what an upstream writes into a header, only what has the form of a name. */
function nameOf(value: string, form: RegExp): string {
  return form.exec(value)?.[0] ?? 'something without a name';
}

const mediaType = /^(?:application|audio|image|multipart|text|video)\/[a-z\d.+-]{1,40}/;
const codings = /^[a-z\d-]{1,16}(?:, [a-z\d-]{1,16}){0,3}$/;

/**
 * `retry-after-ms`, which the OpenAI API sends and its SDKs read, else `Retry-After`; in milliseconds from now, 0 if that time is over
 * already. Of several headers the longest wait counts: each server that wrote one asks for at least that time.
 */
export function readRestMs(header: HeaderReader, nowMs: number): number | undefined {
  const milliseconds = longest(header, 'retry-after-ms', (value) =>
    value && Number.isFinite(Number(value)) ? Math.max(0, Number(value)) : undefined,
  );
  const date = header('date');
  return (
    milliseconds ??
    longest(header, 'retry-after', (value) => readRetryAfterMs({ 'retry-after': value, date }, nowMs))
  );
}

/** Real answers have fewer. */
const headersMax = 4;

function longest(
  header: HeaderReader,
  name: string,
  read: (value: string | undefined) => number | undefined,
): number | undefined {
  const waits = Array.from({ length: headersMax }, (_, at) => read(header(name, at)) ?? []).flat();
  return waits.length === 0 ? undefined : Math.max(...waits);
}
