// Every attempt failed: which error does the caller get? Pure.

import type { ErrorShape } from '../../core/catalog/dialects.ts';
import { ERROR_SHAPES } from '../../core/catalog/error-shapes.ts';
import { GatewayError, wholeWait } from '../request/errors.ts';
import { causeOf } from './cause.ts';
import { type AttemptFailure, errorOf, isAboutModel, judgeFailure, retryAfterMsOf } from './failure.ts';
import { inClientWords } from './too-long.ts';

export interface FinalErrorFacts {
  /** The model as the caller wrote it. */
  readonly model: string;
  /** How the caller's dialect tells errors. */
  readonly shape: ErrorShape;
  /** How many targets could have been asked, and how many were. */
  readonly targets: number;
  readonly targetsAsked: number;
  /** The upstreams were the caller's own (BYOK): a rejected credential is theirs to mend. */
  readonly isOwnProvider: boolean;
  /** Until one of the upstreams may be tried again; 0 if one may be at once. */
  readonly usableInMs: number;
  /** Why no upstream could be tried, if all of their keys are in cooldown for the same reason. */
  readonly commonCooldown: 'rate-limit' | 'out-of-money' | 'rejected' | undefined;
}

/** In the order of the attempts; empty if none could be started. */
export function finalError(failures: readonly AttemptFailure[], facts: FinalErrorFacts): GatewayError {
  const { model } = facts;
  const chosen = choose(failures);
  if (!chosen) return noneTried(facts);
  const { code, keyCooldown: keyRest } = judgeFailure(chosen);
  if (keyRest === 'out-of-money') return noMoney(facts);
  const tries = failures.length === 1 ? '1 attempt' : `${failures.length} attempts`;
  switch (code) {
    case 'rate_limit_exceeded':
      return new GatewayError(code, `The upstreams of model '${model}' are rate limited (${tries}).`, {
        retryAfterSeconds: (facts.usableInMs || shortestWaitMs(failures)) / 1000,
      });
    case 'upstream_overloaded': {
      const waitMs = Math.max(facts.usableInMs, retryAfterMsOf(chosen) ?? 0, overloadWaitMs);
      return new GatewayError(
        ERROR_SHAPES[facts.shape].overloadedCode,
        `The upstreams of model '${model}' are overloaded (${tries}; ${inWords(chosen)}). Retry a little later.`,
        { retryAfterSeconds: waitMs / 1000 },
      );
    }
    case 'upstream_auth_failed':
      return keyRejected(facts);
    case 'model_not_found':
      return modelUnknown(chosen, facts);
    case 'upstream_timeout':
      return new GatewayError(
        code,
        `The upstreams of model '${model}' did not answer in time (${tries}). Use a faster model, or raise the timeouts of its route.`,
      );
    case 'overloaded':
      // The upstream is paid for the answer: an automatic retry would cost the same again.
      return noAnswerRoom({ 'x-should-retry': 'false' });
    case 'answer_too_large':
      return new GatewayError(
        code,
        `The response of model '${model}' is too large for the gateway: ${inWords(chosen)}. Ask for less, or for a stream.`,
      );
    case 'request_too_large':
      return tooLarge(chosen, model);
    case 'invalid_parameter':
    case 'context_length_exceeded':
    case 'content_policy_violation':
      return callersMistake(chosen, code, facts);
    default:
      return new GatewayError(
        code,
        `No upstream of model '${model}' could answer (${tries}; ${inWords(chosen)}). Check the status of its Providers.`,
      );
  }
}

/** If nothing is said: what comes after the gateway's own waits. */
const overloadWaitMs = 2_000;
/** Clients read a wait of nothing as none at all. */
const shortWaitMs = 1_000;

/** For candidates in service that have refused this request. */
function shortestWaitMs(failures: readonly AttemptFailure[]): number {
  return Math.min(...failures.map((failure) => retryAfterMsOf(failure) ?? 60_000)) || shortWaitMs;
}

/** Unread answers of the caller, or of all callers, fill the memory for answers. */
export function noAnswerRoom(headers: Readonly<Record<string, string>> = {}): GatewayError {
  const message =
    'The gateway has no memory left for responses, of this key or in total. Read the open responses, then send the request again.';
  return new GatewayError('overloaded', message, { retryAfterSeconds: 1, headers });
}

/** The same words as for the request that found out: a key does not get better in a cooldown. */
function noneTried({ model, usableInMs, commonCooldown, ...facts }: FinalErrorFacts): GatewayError {
  const retryAfterSeconds = usableInMs / 1000;
  switch (commonCooldown) {
    case 'rejected':
      return keyRejected({ model, usableInMs, commonCooldown, ...facts });
    case 'out-of-money':
      return noMoney({ model, usableInMs, commonCooldown, ...facts });
    case 'rate-limit':
      return new GatewayError('rate_limit_exceeded', `The upstreams of model '${model}' are rate limited.`, {
        retryAfterSeconds,
      });
    case undefined:
      return new GatewayError(
        'upstream_unavailable',
        `No upstream of model '${model}' is available. Please try again in ${wholeWait(retryAfterSeconds)}s.`,
        { retryAfterSeconds },
      );
  }
}

/** The model is unknown only if every target was asked; else an upstream is misconfigured. */
function modelUnknown(
  failure: AttemptFailure,
  { model, targets, targetsAsked }: FinalErrorFacts,
): GatewayError {
  return targetsAsked < targets
    ? new GatewayError(
        'upstream_error',
        `No available upstream knows model '${model}'. Correct upstreamModel of its targets.`,
      )
    : new GatewayError(
        'model_not_found',
        lacksQuota(failure)
          ? `The upstream accounts have no quota for model '${model}' (${inWords(failure)}). Use another model, or raise the quota at the provider.`
          : `No upstream knows model '${model}' (${inWords(failure)}). Use another model${
              mayBeWrongPath(failure)
                ? '; its owner should check upstreamModel, and the path of baseURL, where /v1 may be missing'
                : ', or correct upstreamModel of its targets'
            }.`,
        { param: 'model' },
      );
}

/** See `no-quota` in error-quirks.ts: waiting does not help, so the caller must not read this as a rate limit. */
function lacksQuota(failure: AttemptFailure): boolean {
  return failure.kind === 'status' && failure.status === 429;
}

/** A server that has nothing at this path says so in any words, which do not name the model. */
function mayBeWrongPath(failure: AttemptFailure): boolean {
  return failure.kind === 'status' && failure.status === 404 && !isAboutModel(failure.error);
}

function keyRejected({ model, isOwnProvider }: FinalErrorFacts): GatewayError {
  return isOwnProvider
    ? new GatewayError(
        'upstream_key_rejected',
        `The provider of model '${model}' rejected your own key. Put a valid key into the Secret of the Provider.`,
      )
    : new GatewayError(
        'upstream_auth_failed',
        `The upstreams of model '${model}' reject the platform's credentials. Ask your platform team to renew them.`,
      );
}

/** A person has to pay: waiting and retrying does not help. */
function noMoney({ model, isOwnProvider }: FinalErrorFacts): GatewayError {
  const message = isOwnProvider
    ? `The provider of model '${model}' rejects your own account: its balance or spend limit is used up. Top up the account.`
    : `The platform's accounts for model '${model}' are out of credit. Ask your platform team to top them up.`;
  return new GatewayError('rate_limit_exceeded', message, { headers: { 'x-should-retry': 'false' } });
}

/** The error inside a stream that has already begun. */
export function brokenOffError(failure: AttemptFailure, model: string): GatewayError {
  const { code, reason } = judgeFailure(failure);
  const isKept =
    code === 'rate_limit_exceeded' ||
    code === 'upstream_timeout' ||
    code === 'context_length_exceeded' ||
    code === 'answer_too_large' ||
    failure.kind === 'gateway';
  // Clients retry an overloaded upstream in another way than a broken one.
  const finalCode = isKept ? code : reason === 'Overloaded' ? 'upstream_unavailable' : 'upstream_error';
  const wait = finalCode === 'rate_limit_exceeded' ? inWaitWords(failure) : '';
  return new GatewayError(finalCode, `The answer of model '${model}' broke off: ${inWords(failure)}.${wait}`);
}

/** A stream has no `retry-after`: clients read the time from these words, as OpenAI writes them. */
function inWaitWords(failure: AttemptFailure): string {
  const retryAfterMs = retryAfterMsOf(failure);
  const seconds =
    retryAfterMs !== undefined
      ? retryAfterMs / 1000
      : failure.kind === 'answer' && failure.fault.kind === 'error-event'
        ? waitSecondsOf(failure.fault.error.message)
        : undefined;
  return seconds === undefined ? '' : ` Please try again in ${Math.ceil(seconds)}s.`;
}

/** Of `Please try again in 1m2.5s.`, `try again in 20 seconds`, `retry_after: 7` nothing but the numbers. */
function waitSecondsOf(message: string): number | undefined {
  const [, minutes, number, unit] = wait.exec(message) ?? [];
  if (minutes === undefined && number === undefined) return undefined;
  return Number(minutes ?? 0) * 60 + Number(number ?? 0) / (unit === undefined ? 1 : 1000);
}

const wait =
  /(?:try again in|retry[-_ ]after)\W{0,3}(?:(\d{1,4})\s*m(?!s))?(?:(\d{1,6}(?:\.\d{1,6})?)(?!\.?\d|\s*h)\s*(ms)?)?/i;

/**
 * The failure that the caller can fix comes first, even if another came later: clients shorten a conversation after a "too long"
 * error. Then a rate limit, else the last failure. "Unknown model" is believed only if every upstream says so.
 */
function choose(failures: readonly AttemptFailure[]): AttemptFailure | undefined {
  const isMistake = (failure: AttemptFailure): boolean => {
    const { reason } = judgeFailure(failure);
    return reason === null || reason === 'ContextLengthExceeded' || reason === 'ContentFiltered';
  };
  const isRateLimit = (failure: AttemptFailure): boolean =>
    judgeFailure(failure).keyCooldown === 'rate-limit';
  const knowsModel = (failure: AttemptFailure): boolean => judgeFailure(failure).code !== 'model_not_found';
  return (
    failures.findLast(isMistake) ??
    failures.findLast(isRateLimit) ??
    failures.findLast(knowsModel) ??
    failures.at(-1)
  );
}

/** Larger than a body may be, in the upstream's words; or than its account allows at once, whose numbers are its owner's. */
function tooLarge(failure: AttemptFailure, model: string): GatewayError {
  // The limits of an account come with the account's name, which the caller must not see.
  const isBodys = failure.kind === 'status' && judgeFailure(failure).reason === null;
  const upstreamMessage = isBodys ? failure.error.message : '';
  const message = `The request is too large for the upstreams of model '${model}'. Send less, or ask for a shorter answer.`;
  return new GatewayError('request_too_large', upstreamMessage || message);
}

/** The upstream judged the caller's request: its words are kept, clients read them. */
function callersMistake(
  failure: AttemptFailure,
  code: 'invalid_parameter' | 'context_length_exceeded' | 'content_policy_violation',
  { model, shape }: FinalErrorFacts,
): GatewayError {
  const error = errorOf(failure);
  const status = failure.kind === 'status' && failure.status === 422 ? 422 : undefined;
  const message =
    error?.message ||
    `The upstream of model '${model}' rejected the request without a reason. Check its fields.`;
  if (error?.isForeign)
    return new GatewayError(
      code,
      code === 'context_length_exceeded' ? inClientWords(message, shape) : message,
    );
  return new GatewayError(code, message, {
    param: error?.param ?? undefined,
    details: error?.details,
    upstream: {
      status: status ?? 400,
      type: error?.type ?? 'invalid_request_error',
      code: error?.code ?? code,
    },
  });
}

/** Without a name or an address: which provider serves a model is the platform's business. */
function inWords(failure: AttemptFailure): string {
  switch (failure.kind) {
    case 'transport':
      if (failure.code === 'egress_denied') return 'the address of the upstream is not allowed';
      return failure.code === 'session_failed'
        ? 'the upstream gave the caller no session'
        : `the connection failed: ${failure.code}`;
    case 'head':
      return 'the upstream sent response headers that are not HTTP, too long or cut off';
    case 'status':
      return `the upstream answered ${failure.status}`;
    case 'timeout':
      // After the total timeout it is unknown whether the upstream or the caller was slow.
      return failure.timer === 'total'
        ? 'the request reached its total timeout'
        : `the upstream was silent for too long (${failure.timer})`;
    case 'gateway':
      return failure.code === 'no_room'
        ? 'the gateway has no memory left for the response'
        : 'the gateway failed';
    case 'answer':
      switch (failure.fault.kind) {
        case 'truncated':
          return 'the upstream ended the answer before it was complete';
        case 'error-event':
          return 'the upstream reported an error';
        case 'too-large':
          return failure.fault.detail;
        case 'unusable':
          return `the response of the upstream is not usable: ${causeOf(failure)}`;
        case 'malformed':
          return `the upstream sent an invalid response: ${causeOf(failure)}`;
      }
  }
}
