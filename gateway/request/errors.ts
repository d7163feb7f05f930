// How does the gateway report an error? As an exception inside, and as the body and headers of an answer.

import type { ErrorShape } from '../../core/catalog/dialects.ts';
import { ERROR_CODES, type ErrorCode } from '../../core/catalog/error-codes.ts';

/** The error object of the answers: `{"error": {message, type, code, param}}`. */
export interface ErrorObject {
  readonly message: string;
  readonly type: string;
  readonly code: string | null;
  readonly param: string | null;
}

interface GatewayErrorOptions {
  readonly param?: string | undefined;
  /** When a retry may help; sent as a minute at most. */
  readonly retryAfterSeconds?: number | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly cause?: unknown;
  /** What the messages routes say beside the words, for programs. */
  readonly details?: Readonly<Record<string, unknown>> | undefined;
  /** An upstream's own type and code, kept when it judged the caller's request. */
  readonly upstream?:
    | { readonly status: number; readonly type: string; readonly code: string | null }
    | undefined;
}

/** Longest quote of a caller in an error; whole messages may hold an upstream's text, and are read by programs too. */
const wordsMax = 256;
const messageMax = 4_096;

/** Shortens an upstream's words from the middle: the advice is often at the end of a sentence. */
export function shorten(words: string, charactersMax = wordsMax): string {
  if (words.length <= charactersMax) return words;
  const tail = charactersMax / 4;
  return `${words.slice(0, charactersMax - tail - 1)}…${words.slice(-tail)}`;
}

/** An answer other than success. The message names the thing, the fact and the action. */
export class GatewayError extends Error {
  readonly code: ErrorCode;
  readonly param: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly status: number;
  readonly details: Readonly<Record<string, unknown>> | undefined;
  private readonly upstream: GatewayErrorOptions['upstream'];

  constructor(code: ErrorCode, message: string, options: GatewayErrorOptions = {}) {
    super(shorten(message, messageMax), options.cause === undefined ? {} : { cause: options.cause });
    this.name = 'GatewayError';
    this.code = code;
    this.param = options.param && shorten(options.param);
    this.details = options.details;
    this.upstream = options.upstream;
    const entry = ERROR_CODES[code];
    this.status = options.upstream?.status ?? entry.status;
    this.headers = {
      ...(entry.mayRetry ? {} : { 'x-should-retry': 'false' }),
      ...(entry.status === 401 ? { 'www-authenticate': 'Bearer' } : {}),
      ...(options.retryAfterSeconds === undefined ? {} : retryAfterHeaders(options.retryAfterSeconds)),
      ...options.headers,
    };
  }

  /** The error object in the words of the given route family. */
  toErrorObject(shape: ErrorShape): ErrorObject {
    const entry = ERROR_CODES[this.code];
    const ownType = shape === 'messages' ? entry.messagesType : entry.type;
    return {
      message: this.message,
      type: this.upstream?.type ?? ownType,
      code: this.upstream ? this.upstream.code : (entry.code ?? this.code),
      param: this.param ?? null,
    };
  }
}

/**
 * Whole seconds from 1 to 60, which every client reads, and milliseconds, which SDKs prefer. SDKs sleep for exactly
 * the given time, some for days, and the OpenAI SDK ignores values above a minute.
 */
function retryAfterHeaders(seconds: number): Readonly<Record<string, string>> {
  return {
    'retry-after': String(wholeWait(seconds)),
    'retry-after-ms': String(Math.max(1, Math.ceil(boundedWait(seconds) * 1000))),
  };
}

/** As `retry-after` gives it: 0 is no wait to some SDKs, and none at all to others. */
export function wholeWait(seconds: number): number {
  return Math.max(1, Math.ceil(boundedWait(seconds)));
}

function boundedWait(seconds: number): number {
  return Number.isNaN(seconds) ? 0 : Math.min(60, Math.max(0, seconds));
}

/** The HTTP status of an answer that tells it. */
export function statusOf(error: unknown): number {
  return error instanceof GatewayError ? error.status : 500;
}

/** The JSON body of an error answer. */
export function encodeErrorBody(error: GatewayError, shape: ErrorShape, requestId: string): string {
  const object = error.toErrorObject(shape);
  if (shape === 'openai') return JSON.stringify({ error: object });
  const { type, message, code } = object;
  const shown = { type, message, code, ...(error.details ? { details: error.details } : {}) };
  return JSON.stringify({ type: 'error', error: shown, request_id: requestId });
}
