// How do OpenAI-shaped upstreams say that something went wrong? Read leniently: providers send
// objects, strings, arrays with one object, numeric codes, HTML, nothing.

import type { ErrorObject } from '../errors.ts';
import { asRecord, tryParseJson } from '../json/record.ts';
import type { UpstreamError } from './dialect.ts';

/** Longest message taken over from an upstream, in bytes of UTF-8. */
const messageBytesMax = 2048;

/** From the body of an error answer. */
export function readOpenAiError(body: Buffer): UpstreamError {
  const value = tryParseJson(body.toString('utf8'));
  return readErrorValue(value) ?? { message: '', type: null, code: null, param: null, status: null };
}

/** From a JSON value that may hold an error; undefined where it holds none. */
export function readErrorValue(value: unknown): UpstreamError | undefined {
  const outer = asRecord(Array.isArray(value) ? value[0] : value);
  if (!outer) return undefined;
  const inner = asRecord(outer.error);
  const fields = inner ?? outer;
  const message = text(inner?.message) ?? text(outer.error) ?? text(outer.detail) ?? text(outer.message);
  if (message === undefined && !inner) return undefined;
  const code = fields.code;
  return {
    message: cut(message ?? ''),
    type: text(fields.type) ?? null,
    code: typeof code === 'number' ? String(code) : (text(code) ?? null),
    param: text(fields.param) ?? null,
    status: statusOf(fields, code),
  };
}

function statusOf(fields: Readonly<Record<string, unknown>>, code: unknown): number | null {
  for (const candidate of [fields.status, fields.status_code, fields.http_status, code]) {
    const number = typeof candidate === 'string' && /^\d{3}$/.test(candidate) ? Number(candidate) : candidate;
    if (typeof number === 'number' && number >= 400 && number <= 599) return number;
  }
  return null;
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** Cuts to the limit without leaving half a character. */
function cut(message: string): string {
  if (Buffer.byteLength(message) <= messageBytesMax) return message;
  return Buffer.from(message)
    .subarray(0, messageBytesMax)
    .toString('utf8')
    .replace(/\uFFFD+$/, '');
}

/**
 * The frame that ends a broken stream: the OpenAI SDKs raise on any chunk with an `error` member.
 * Never followed by `[DONE]`, so that a reader who ignores the frame still sees a broken stream.
 */
export function encodeOpenAiErrorFrame(error: ErrorObject): string {
  return `data: ${JSON.stringify({ error })}\n\n`;
}
