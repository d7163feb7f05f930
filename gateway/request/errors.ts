// Which errors does the gateway answer, with which status, and whose fault is each? One table.

import type { ErrorShape } from '../../core/catalog/dialects.ts';

/** Whose fault: the caller's (4xx), an upstream's, or ours. */
type Fault = 'caller' | 'upstream' | 'gateway';

interface ErrorRow {
  readonly status: number;
  /** `error.type` on OpenAI-shaped routes. */
  readonly type: string;
  /** `error.type` on the messages routes. */
  readonly messagesType: string;
  readonly fault: Fault;
  /**
   * False: SDKs are told with `x-should-retry: false` not to try again by themselves, because it cannot help, or because the
   * gateway has done so already. A whole fleet that tries three times multiplies what the gateway has tried three times.
   */
  readonly mayRetry: boolean;
  /** `error.code` where it is not the row's own name: the code an SDK or CLI keys on. */
  readonly code?: string;
}

const row = (
  status: number,
  type: string,
  messagesType: string,
  fault: Fault,
  mayRetry: boolean,
  code?: string,
): ErrorRow => ({ status, type, messagesType, fault, mayRetry, ...(code === undefined ? {} : { code }) });

const invalid = 'invalid_request_error';

/** Every error code of the gateway. `docs/errors.md` has a row for each; a test compares them. */
export const errorTable = {
  invalid_parameter: row(400, invalid, invalid, 'caller', true),
  unsupported_parameter: row(400, invalid, invalid, 'caller', true),
  context_length_exceeded: row(400, invalid, invalid, 'caller', true),
  content_policy_violation: row(400, invalid, invalid, 'caller', true),
  invalid_api_key: row(401, invalid, invalid, 'caller', false),
  upstream_key_rejected: row(403, invalid, 'permission_error', 'caller', false, 'upstream_auth_failed'),
  model_not_found: row(404, invalid, 'not_found_error', 'caller', false),
  model_not_priced: row(404, invalid, 'not_found_error', 'caller', false, 'model_not_found'),
  not_found: row(404, invalid, 'not_found_error', 'caller', true),
  method_not_allowed: row(405, invalid, invalid, 'caller', true),
  request_timeout: row(408, invalid, invalid, 'caller', true),
  request_too_large: row(413, invalid, 'request_too_large', 'caller', false),
  unsupported_media_type: row(415, invalid, invalid, 'caller', true),
  upgrade_not_supported: row(426, invalid, invalid, 'caller', false),
  headers_too_large: row(431, invalid, invalid, 'caller', true),
  rate_limit_exceeded: row(429, 'rate_limit_error', 'rate_limit_error', 'caller', true),
  // Codex stops at once on this type, Claude Code on that status.
  insufficient_quota: row(429, 'insufficient_quota', 'rate_limit_error', 'caller', false),
  billing_error: row(402, 'insufficient_quota', 'billing_error', 'caller', false, 'insufficient_quota'),
  internal_error: row(500, 'server_error', 'api_error', 'gateway', true),
  upstream_error: row(502, 'server_error', 'api_error', 'upstream', false),
  upstream_invalid_response: row(502, 'server_error', 'api_error', 'upstream', false),
  answer_too_large: row(502, 'server_error', 'api_error', 'gateway', false),
  upstream_auth_failed: row(502, 'server_error', 'api_error', 'upstream', false),
  upstream_overloaded: row(503, 'server_error', 'overloaded_error', 'upstream', true),
  // Claude Code turns to its other model on this status, as other clients of the dialect do.
  upstream_overloaded_529: row(
    529,
    'server_error',
    'overloaded_error',
    'upstream',
    true,
    'upstream_overloaded',
  ),
  upstream_unavailable: row(503, 'server_error', 'overloaded_error', 'upstream', false),
  not_ready: row(503, 'server_error', 'overloaded_error', 'gateway', true),
  limits_unavailable: row(503, 'server_error', 'overloaded_error', 'gateway', true),
  overloaded: row(503, 'server_error', 'overloaded_error', 'gateway', true),
  server_shutting_down: row(503, 'server_error', 'overloaded_error', 'gateway', true),
  upstream_timeout: row(504, 'server_error', 'timeout_error', 'upstream', false),
} as const satisfies Record<string, ErrorRow>;

export type ErrorCode = keyof typeof errorTable;

/** The error object of the answers: `{"error": {message, type, code, param}}`. */
export interface ErrorObject {
  readonly message: string;
  readonly type: string;
  readonly code: string | null;
  readonly param: string | null;
}

interface GatewayErrorOptions {
  readonly param?: string | undefined;
  /** When trying again may help; told as a minute at most. */
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

/** Of the words of callers in an error; whole messages may hold those of an upstream, and are read by programs too. */
const wordsMax = 256;
const messageMax = 4_096;

/** Words of others as they are told back: both ends of what is too long, since what to do about it stands at the end of sentences. */
export function shorten(words: string, charactersMax = wordsMax): string {
  if (words.length <= charactersMax) return words;
  const tail = charactersMax / 4;
  return `${words.slice(0, charactersMax - tail - 1)}…${words.slice(-tail)}`;
}

/** An answer other than success, on its way to the caller. The message names the thing, the fact and the way out. */
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
    const entry: ErrorRow = errorTable[code];
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
    const entry: ErrorRow = errorTable[this.code];
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
 * Whole seconds from 1 to 60, which every client reads, and the same more exactly, which SDKs prefer. They sleep exactly
 * as long as they are told, some for days, and the OpenAI SDK ignores values above a minute.
 */
function retryAfterHeaders(seconds: number): Readonly<Record<string, string>> {
  const atMost = Number.isNaN(seconds) ? 0 : Math.min(60, Math.max(0, seconds));
  return {
    'retry-after': String(Math.max(1, Math.ceil(atMost))),
    // 0 is no wait to some SDKs, and none at all to others.
    'retry-after-ms': String(Math.max(1, Math.ceil(atMost * 1000))),
  };
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
  const told = { type, message, code, ...(error.details ? { details: error.details } : {}) };
  return JSON.stringify({ type: 'error', error: told, request_id: requestId });
}
