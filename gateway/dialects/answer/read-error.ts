// How do upstreams say that something went wrong? Read leniently: providers send
// objects, strings, arrays with one object, numeric codes, HTML, nothing.

import { parseJson } from '../../../core/parse-json.ts';
import { mapTexts } from '../../json/map-texts.ts';
import { asRecord, type JsonRecord } from '../../json/record.ts';
import type { UpstreamError } from '../dialect.ts';
import { meansFailure } from './failure-reasons.ts';
import { readRetryDelayMs } from './retry-info.ts';

/** `user:password@` in an address (RFC 3986, section 3.2.1); a password may hold an unescaped `@`. */
const userinfo = /(?<=:\/\/)[^\s/?#"'<>]*@/g;

/** Longest text copied from an upstream's error, in bytes of UTF-8. */
const textBytesMax = 2048;

/** From the body of an error answer. */
export function readErrorBody(body: Buffer): UpstreamError {
  const value = parseJson(body.toString('utf8'));
  return readErrorValue(value) ?? noError;
}

/** From a JSON value that may hold an error; undefined if it holds none. */
export function readErrorValue(value: unknown): UpstreamError | undefined {
  const outer = asRecord(firstOf(value));
  if (!outer) return undefined;
  const error = firstOf(outer.error);
  const inner = asRecord(error);
  const fields = inner ?? outer;
  const message =
    text(inner?.message) ??
    text(error) ??
    detailOf(outer.detail) ??
    text(outer.message) ??
    // AWS, where a request does not get as far as the model.
    text(outer.Message) ??
    // Mistral puts what FastAPI says there.
    detailOf(asRecord(outer.message)?.detail);
  if (message === undefined && !inner) return undefined;
  const retryAfterMs = readRetryDelayMs(inner?.details);
  return {
    message: message ?? '',
    type: text(fields.type) ?? typeOf(text(outer.__type)) ?? null,
    code: code(fields.code),
    param: text(fields.param) ?? null,
    status: statusOf(fields),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  };
}

/**
 * The error inside an answer or a stream event of status 200; undefined if it has none. As in the
 * OpenAI SDKs: any truthy `error`, except an empty one in an object that holds a part of an answer. Some servers
 * mark the whole object as an error, or put the error into the finish reason; its text would pass for an answer.
 */
export function readErrorMember(value: unknown): UpstreamError | undefined {
  const outer = asRecord(firstOf(value));
  if (outer?.error && !hasEmptyError(outer)) {
    return readErrorValue(outer) ?? { ...noError, code: code(outer.error) };
  }
  if (outer?.object === 'error') return readErrorValue(outer);
  return Array.isArray(outer?.choices) && outer.choices.some(endsInError) ? noError : undefined;
}

/** Some servers write an empty `error` into every answer: it says that there was none. */
export function hasEmptyError(outer: JsonRecord): boolean {
  return outer.error !== undefined && isEmpty(outer.error) && isPartOfAnswer(outer);
}

/** Nothing, or an object of nothing but that: `{"code":0,"message":""}`. */
function isEmpty(value: unknown): boolean {
  if (!value) return true;
  return typeof value === 'object' && Object.values(value).every((member) => !member);
}

/** Of any dialect; an event says in its type what it is. */
function isPartOfAnswer({ choices, content, output, usage, type }: JsonRecord): boolean {
  const hasParts = [choices, content, output].some((list) => Array.isArray(list) && list.length > 0);
  return hasParts || asRecord(usage) !== undefined || (typeof type === 'string' && type !== 'error');
}

function endsInError(choice: unknown): boolean {
  return meansFailure(asRecord(choice)?.finish_reason);
}

/** From the data of an event that is named an error; what is no JSON is the message itself. */
export function readErrorEvent(data: string): UpstreamError {
  const value = parseJson(data);
  return readErrorMember(value) ?? readErrorValue(value) ?? { ...noError, message: cut(data) };
}

/** An error without any details. */
export const noError: UpstreamError = { message: '', type: null, code: null, param: null, status: null };

/**
 * What an error says beside its message, bounded as that is: members that do not fit are left out, each as a whole. Undefined where
 * nothing is left.
 */
export function readErrorDetails(value: unknown): JsonRecord | undefined {
  let bytesLeft = textBytesMax;
  const details = Object.entries(mapTexts(asRecord(value) ?? {}, withoutUserinfo)).filter((entry) => {
    const bytes = Buffer.byteLength(JSON.stringify(entry));
    if (bytes > bytesLeft) return false;
    bytesLeft -= bytes;
    return true;
  });
  return details.length === 0 ? undefined : Object.fromEntries(details);
}

/** FastAPI tells one text, or a list of what does not fit and where. */
function detailOf(detail: unknown): string | undefined {
  if (!Array.isArray(detail)) return text(detail);
  const lines = detail.flatMap((entry) => {
    const { loc, msg } = asRecord(entry) ?? {};
    if (typeof msg !== 'string') return [];
    const place = Array.isArray(loc) ? loc.filter(isName).join('.') : '';
    return [place === '' ? msg : `${place}: ${msg}`];
  });
  return lines.length === 0 ? undefined : text(lines.join('; '));
}

/** `com.amazon.coral.service#ExpiredTokenException`: the namespace says nothing. */
function typeOf(shape: string | undefined): string | undefined {
  return shape?.slice(shape.indexOf('#') + 1);
}

function isName(value: unknown): value is string | number {
  return typeof value === 'string' || typeof value === 'number';
}

function firstOf(value: unknown): unknown {
  return Array.isArray(value) ? value[0] : value;
}

function statusOf(fields: JsonRecord): number | null {
  for (const candidate of [fields.status, fields.status_code, fields.http_status, fields.code]) {
    const number = typeof candidate === 'string' && /^\d{3}$/.test(candidate) ? Number(candidate) : candidate;
    if (Number.isInteger(number) && Number(number) >= 400 && Number(number) <= 599) return Number(number);
  }
  return null;
}

function code(value: unknown): string | null {
  return typeof value === 'number' ? String(value) : (text(value) ?? null);
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? cut(value) : undefined;
}

function withoutUserinfo(text: string): string {
  return text.replace(userinfo, '');
}

/** Without credentials in addresses; cut to the limit without leaving half a character. */
function cut(whole: string): string {
  const message = withoutUserinfo(whole);
  if (Buffer.byteLength(message) <= textBytesMax) return message;
  return Buffer.from(message)
    .subarray(0, textBytesMax)
    .toString('utf8')
    .replace(/\uFFFD+$/, '');
}
