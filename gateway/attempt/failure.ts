// What can go wrong with one attempt, and what does each failure mean? Pure: the facts come in,
// the judgement comes out.

import { STATUS_CODES } from 'node:http';
import type { ErrorCode } from '../../core/catalog/error-codes.ts';
import { refusesKey } from '../../core/contract/refused-key.ts';
import type { RetryReason } from '../../core/contract/routing-table.ts';
import type { EgressErrorCode } from '../../core/egress/egress-error.ts';
import type { AnswerFault, UpstreamError } from '../dialects/dialect.ts';
import { type Meaning, meaningOf, type RequestSize } from './error-quirks.ts';

/** Why a connection gave no answer; `reset`: it was there and broke; `session_failed`: the caller has no session at the upstream. */
type TransportCode = EgressErrorCode | 'reset' | 'session_failed';

/** Why one gave no whole answer; `bad_head`: the answer has begun, and ended before its head was read. */
export type BreakCode = TransportCode | 'bad_head';

/** The facts of a failed attempt. */
export type AttemptFailure =
  /** No connection came about, or it broke before any byte of an answer. */
  | {
      readonly kind: 'transport';
      readonly code: TransportCode;
      readonly detail: string;
      /** The connection had been used before, and may have been closed just as the request was sent. */
      readonly isStale?: boolean;
    }
  /** The head of the answer is not HTTP, too long or cut off: a server has received the request. */
  | { readonly kind: 'head'; readonly detail: string }
  /** An answer with an error status, or a redirect. */
  | {
      readonly kind: 'status';
      readonly status: number;
      readonly error: UpstreamError;
      readonly retryAfterMs: number | undefined;
      /** Size of the request; only for an error about size. */
      readonly size?: RequestSize;
    }
  /** A 200 whose content is no answer: see `AnswerFault`. */
  | { readonly kind: 'answer'; readonly fault: AnswerFault }
  | { readonly kind: 'timeout'; readonly timer: 'first-event' | 'liveness' | 'progress' | 'total' }
  /** Ours: no room for what the answer brings, or something that we cannot cope with, which `error` tells the log. */
  | { readonly kind: 'gateway'; readonly code: 'no_room' | 'internal_error'; readonly error?: unknown };

/** What the upstream says of it, where it says anything. */
export function errorOf(failure: AttemptFailure): UpstreamError | undefined {
  if (failure.kind === 'status') return failure.error;
  return failure.kind === 'answer' && failure.fault.kind === 'error-event' ? failure.fault.error : undefined;
}

/** How long the upstream says to wait: in the head of its answer, else in the error itself. */
export function retryAfterMsOf(failure: AttemptFailure): number | undefined {
  const inHead = failure.kind === 'status' ? failure.retryAfterMs : undefined;
  return inHead ?? errorOf(failure)?.retryAfterMs;
}

/** What is to be done about it. */
export interface Judgement {
  /** The reason that a route's `failover.retryOn` must name; null: never tried elsewhere. */
  readonly reason: RetryReason | null;
  /** What is to blame: candidates that share it are not worth the next attempt. */
  readonly scope: 'key' | 'key-model' | 'target' | 'endpoint';
  /** The same candidate may be tried again before others, where that is better for the caller. */
  readonly mayRetrySame: boolean;
  /** How often the same candidate is tried again if no other is left. */
  readonly retriesAlone: 0 | 1 | 2;
  /** The error code for the caller if no other attempt succeeds. */
  readonly code: ErrorCode;
  /** Cooldown of the key, if it is at fault. */
  readonly keyCooldown: 'rate-limit' | 'out-of-money' | 'rejected' | null;
  /** Whether it counts against the upstream's health. */
  readonly isHealthSignal: boolean;
  /** What the caller asked can have caused it: where others are answered, it does not count. */
  readonly mayBeCallers: boolean;
  /** Whether the upstream may have begun to do what it was asked; false: it was never asked, or has refused at once. */
  readonly mayHaveActed: boolean;
}

const judgement = (
  reason: RetryReason | null,
  scope: Judgement['scope'],
  code: ErrorCode,
  more: Partial<Omit<Judgement, 'reason' | 'scope' | 'code'>> = {},
): Judgement => ({
  reason,
  scope,
  code,
  mayRetrySame: more.mayRetrySame ?? false,
  retriesAlone: more.retriesAlone ?? (more.mayRetrySame ? 1 : 0),
  keyCooldown: more.keyCooldown ?? null,
  isHealthSignal: more.isHealthSignal ?? reason !== null,
  mayBeCallers: more.mayBeCallers ?? false,
  mayHaveActed: more.mayHaveActed ?? true,
});

export function judgeFailure(failure: AttemptFailure): Judgement {
  switch (failure.kind) {
    case 'transport':
      // Refused by our own guard: the provider is misconfigured, trying again cannot help.
      if (failure.code === 'egress_denied')
        return judgement('ConnectFailure', 'endpoint', 'upstream_error', { mayHaveActed: false });
      if (failure.code === 'connect_timeout')
        return judgement('ConnectFailure', 'endpoint', 'upstream_timeout', { mayHaveActed: false });
      // One tenant must not open the circuit breaker for the others: their sessions may be valid.
      if (failure.code === 'session_failed')
        return judgement('AuthFailure', 'key', 'upstream_error', {
          isHealthSignal: false,
          mayHaveActed: false,
        });
      return judgement('ConnectFailure', 'endpoint', 'upstream_error', {
        mayRetrySame: true,
        mayHaveActed: failure.code === 'reset',
      });
    case 'head':
      return judgement('ServerError', 'target', 'upstream_invalid_response');
    case 'timeout':
      // Never again on the same target: it multiplies the wait. Of `total` another one may have more, else no time is left.
      return judgement('Timeout', 'target', 'upstream_timeout', {
        mayBeCallers: failure.timer === 'first-event' || failure.timer === 'total',
      });
    case 'status':
      return judgeStatus(failure.status, failure.error, failure.size);
    case 'answer':
      return judgeAnswerFault(failure.fault);
    case 'gateway':
      // Another upstream's answer would need as much room.
      return failure.code === 'no_room'
        ? judgement(null, 'target', 'overloaded')
        : judgement('ServerError', 'target', 'internal_error', { isHealthSignal: false });
  }
}

function judgeAnswerFault(fault: AnswerFault): Judgement {
  if (fault.kind === 'error-event') return judgeErrorEvent(fault.error);
  // Another upstream's answer to the same request would be as large, and has to be paid for too.
  if (fault.kind === 'too-large') return judgement(null, 'target', 'answer_too_large');
  // Requests for assured delivery must not be able to open the circuit breaker for all other requests.
  const isHealthSignal = fault.kind !== 'unusable';
  return judgement('ServerError', 'target', 'upstream_invalid_response', { isHealthSignal });
}

/** An error under a 200 is the status it names; where it names none, the type does. */
function judgeErrorEvent(error: UpstreamError): Judgement {
  // Whatever it names: the upstream had taken the request on, and would bill it again.
  return { ...judgeByWords(error), mayRetrySame: false, retriesAlone: 0, mayHaveActed: true };
}

function judgeByWords(error: UpstreamError): Judgement {
  if (error.status !== null) return judgeStatus(error.status, error);
  const words = `${error.type ?? ''} ${error.code ?? ''}`;
  if (meaningOf(402, error, undefined) === 'out-of-money') return judgeStatus(402, error);
  if (/rate_limit/.test(words)) return judgeStatus(429, error);
  if (/overloaded/.test(words) || meaningOf(503, error, undefined) === 'overloaded') {
    return judgeStatus(503, error);
  }
  if (/authentication|invalid_api_key/.test(words)) return judgeStatus(401, error);
  if (/permission/.test(words)) return judgeStatus(403, error);
  if (/model_not_found|not_found_error/.test(words)) return judgeStatus(404, error);
  if (/invalid_request|invalid_prompt|context_length|content_policy|content_filter/.test(words)) {
    return judgeStatus(400, error);
  }
  return judgeStatus(500, error);
}

function judgeStatus(status: number, error: UpstreamError, size?: RequestSize): Judgement {
  const words = `${error.type ?? ''} ${error.code ?? ''}`;
  const meaning = meaningOf(status, error, size);
  switch (meaning) {
    case 'request-too-large':
      return tooMuchAtOnce;
    case 'no-quota':
      return noQuota;
    case 'overloaded':
      return overloaded;
    case 'out-of-money':
      return outOfMoney;
    case 'account-limit':
      return rateLimit('key');
  }
  if (status === 402) return outOfMoney;
  if (refusesKey(status, error)) return rejectedKey;
  switch (status) {
    case 401:
    case 403:
      return judgeForbidden(words, error, meaning);
    case 404:
    case 410:
      return isNobodyThere(error) ? wrongAddress : unknownModel;
    case 405:
      return wrongAddress;
    case 407:
      // A proxy in between knows no models: other targets of the Provider use the same proxy.
      return judgement('ServerError', 'endpoint', 'upstream_error', { mayHaveActed: false });
    case 408:
    case 409:
    case 500:
    case 504:
      return judgement('ServerError', 'target', 'upstream_error', { mayRetrySame: true, mayBeCallers: true });
    case 413:
      return judgement(null, 'target', 'request_too_large');
    case misdirected:
    case tooEarly:
      return judgement('ServerError', 'target', 'upstream_error', {
        mayRetrySame: true,
        mayHaveActed: false,
      });
    case 429:
      return rateLimit('key-model');
    case 503:
    case 529:
      return overloaded;
    case 502:
      return judgement('ServerError', 'target', 'upstream_error', { mayRetrySame: true });
    default:
      if (status >= 500) {
        return judgement('ServerError', 'target', 'upstream_error', { mayBeCallers: !isBetween(status) });
      }
      // Redirects are never followed: they are the upstream's misconfiguration.
      if (status < 400) return judgement('ServerError', 'target', 'upstream_invalid_response');
      return judgeCallersMistake(words, meaning);
  }
}

/** One request that is larger than the limit of a whole minute, or than what is left of an account: smaller ones pass. */
const tooMuchAtOnce = judgement('RateLimited', 'key-model', 'request_too_large', {
  isHealthSignal: false,
  mayHaveActed: false,
});

/** Waiting does not help, and a smaller request neither. Another key may have a quota for the model. */
const noQuota = judgement('ModelNotFound', 'key-model', 'model_not_found', {
  isHealthSignal: false,
  mayHaveActed: false,
});

const outOfMoney = judgement('RateLimited', 'key', 'rate_limit_exceeded', {
  keyCooldown: 'out-of-money',
  isHealthSignal: false,
  mayHaveActed: false,
});

/** Refused at once; another try a moment later may succeed. */
const overloaded = judgement('Overloaded', 'target', 'upstream_overloaded', {
  retriesAlone: 2,
  mayHaveActed: false,
});

const rateLimit = (scope: 'key' | 'key-model'): Judgement =>
  judgement('RateLimited', scope, 'rate_limit_exceeded', {
    keyCooldown: 'rate-limit',
    mayRetrySame: true,
    isHealthSignal: false,
    mayHaveActed: false,
  });

/** Cloudflare's statuses for an origin server that it cannot reach. */
function isBetween(status: number): boolean {
  return status >= 520 && status <= 526;
}

const rejectedKey = judgement('AuthFailure', 'key', 'upstream_auth_failed', {
  keyCooldown: 'rejected',
  isHealthSignal: false,
  mayHaveActed: false,
});

/** A model, an endpoint, a prompt that a moderation or a firewall does not like. Another key may be allowed to. */
function judgeForbidden(words: string, error: UpstreamError, meaning: Meaning | undefined): Judgement {
  if (/model_not_found/.test(words)) {
    return judgement('ModelNotFound', 'key', 'model_not_found', {
      isHealthSignal: false,
      mayHaveActed: false,
    });
  }
  if (isFiltered(words) || meaning === 'content-flagged') return filtered;
  const hasWords = error.message !== '' || words !== ' ';
  return judgement('AuthFailure', 'key', hasWords ? 'upstream_auth_failed' : 'upstream_error', {
    isHealthSignal: false,
    mayHaveActed: false,
  });
}

function isFiltered(words: string): boolean {
  return /content_policy|content_filter|moderation/.test(words);
}

const filtered = judgement('ContentFiltered', 'target', 'content_policy_violation', {
  isHealthSignal: false,
  mayHaveActed: false,
});

/** Something else is there than what it was taken for. */
const wrongAddress = judgement('ServerError', 'target', 'upstream_invalid_response', { mayHaveActed: false });

/** This server is not responsible for the host (RFC 9110, section 15.5.20), or distrusts the connection (RFC 8470, section 5.2). */
const misdirected = 421;
const tooEarly = 425;

/** Refused because of its connection; a retry uses another one. */
export function isForConnection(failure: AttemptFailure): boolean {
  return failure.kind === 'status' && (failure.status === misdirected || failure.status === tooEarly);
}

const unknownModel = judgement('ModelNotFound', 'target', 'model_not_found', {
  isHealthSignal: false,
  mayHaveActed: false,
});

/** Whether a 404 or 410 means the model, or the deployment that serves it, and not the path. */
export function isAboutModel(error: UpstreamError): boolean {
  const { code, type, message } = error;
  return (
    /model/i.test(`${code ?? ''} ${type ?? ''} ${message}`) ||
    meaningOf(404, error, undefined) === 'model-unknown'
  );
}

/** Nothing serves requests at that address: a web server's page, or the words with which frameworks say so. */
function isNobodyThere(error: UpstreamError): boolean {
  if (isAboutModel(error)) return false;
  const { code, type, message } = error;
  return message === ''
    ? type === null && code === null
    : /^(4(04|10)\b|gone\b|(page |resource )?not found\b|invalid url\b|cannot post\b)/i.test(message);
}

/** Alone, the caller reads the upstream's own words: a shorter or clearer prompt may help. */
const modelFailed = judgement('ServerError', 'target', 'invalid_parameter', { isHealthSignal: false });

function judgeCallersMistake(words: string, meaning: Meaning | undefined): Judgement {
  if (/context_length/.test(words) || meaning === 'prompt-too-long') {
    return judgement('ContextLengthExceeded', 'target', 'context_length_exceeded', {
      isHealthSignal: false,
      mayHaveActed: false,
    });
  }
  if (isFiltered(words)) return filtered;
  if (meaning === 'model-fault') return modelFailed;
  if (/model_not_found|invalid_model/.test(words) || meaning === 'model-unknown') return unknownModel;
  return judgement(null, 'target', 'invalid_parameter');
}

/** In no standard, but sent by Anthropic, nginx, and Cloudflare. */
const furtherStatuses: ReadonlySet<number> = new Set([499, 520, 521, 522, 523, 524, 525, 526, 529]);

/** An upstream may send any number; those that mean nothing go by their hundred. */
function statusWord(status: number): string {
  if (Object.hasOwn(STATUS_CODES, status) || furtherStatuses.has(status)) return String(status);
  return status >= 100 && status < 600 ? `${Math.floor(status / 100)}xx` : 'other';
}

/** One word for ledger and metrics: a fixed set, whatever upstreams say. */
export function failureCode(failure: AttemptFailure): string {
  switch (failure.kind) {
    case 'transport':
      return failure.code;
    case 'head':
      return 'bad_head';
    case 'status':
      return `status_${statusWord(failure.status)}`;
    case 'timeout':
      return `timeout_${failure.timer.replace('-', '_')}`;
    case 'answer':
      return failure.fault.kind.replace('-', '_');
    case 'gateway':
      return failure.code;
  }
}
