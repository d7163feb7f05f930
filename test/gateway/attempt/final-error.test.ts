// Every attempt failed: what is the caller reported?

import { describe, expect, test } from 'vitest';
import { type AttemptFailure, failureCode } from '../../../gateway/attempt/failure.ts';
import { brokenOffError, type FinalErrorFacts, finalError } from '../../../gateway/attempt/final-error.ts';
import type { UpstreamError } from '../../../gateway/dialects/dialect.ts';

const noWords: UpstreamError = { message: '', type: null, code: null, param: null, status: null };
const status = (code: number, error: Partial<UpstreamError> = {}, retryAfterMs?: number): AttemptFailure => ({
  kind: 'status',
  status: code,
  error: { ...noWords, ...error },
  retryAfterMs,
});
const unknownModel = status(404, { code: 'model_not_found' });
const reset: AttemptFailure = { kind: 'transport', code: 'reset', detail: 'ECONNRESET 10.9.8.7' };
const silent: AttemptFailure = { kind: 'timeout', timer: 'first-event' };
const nonsense: AttemptFailure = { kind: 'answer', fault: { kind: 'malformed', detail: 'it is empty' } };
const errorEvent = (error: Partial<UpstreamError>): AttemptFailure => ({
  kind: 'answer',
  fault: { kind: 'error-event', error: { ...noWords, ...error } },
});

const facts: FinalErrorFacts = {
  model: 'm',
  shape: 'openai',
  targets: 1,
  targetsAsked: 1,
  isOwnProvider: false,
  usableInMs: 0,
  commonCooldown: undefined,
};

interface Row {
  readonly when: string;
  readonly failures: readonly AttemptFailure[];
  readonly isOwnProvider?: boolean;
  /** Default: one could be tried at once. */
  readonly usableInMs?: number;
  readonly status: number;
  readonly code: string;
  readonly retryAfter?: string;
  readonly mayRetry: boolean;
}

const rows: readonly Row[] = [
  {
    when: 'nobody could be asked',
    failures: [],
    usableInMs: 7_200,
    status: 503,
    code: 'upstream_unavailable',
    retryAfter: '8',
    mayRetry: false,
  },
  {
    when: 'the last one decides',
    failures: [silent, reset],
    status: 502,
    code: 'upstream_error',
    mayRetry: false,
  },
  {
    when: 'the last one was silent',
    failures: [reset, silent],
    status: 504,
    code: 'upstream_timeout',
    mayRetry: false,
  },
  { when: 'nonsense', failures: [nonsense], status: 502, code: 'upstream_invalid_response', mayRetry: false },
  {
    when: 'a rate limit before another failure',
    failures: [status(429, {}, 3_000), reset],
    status: 429,
    code: 'rate_limit_exceeded',
    retryAfter: '3',
    mayRetry: true,
  },
  {
    when: 'the shortest of the waits',
    failures: [status(429, {}, 30_000), status(429, {}, 2_100), status(429)],
    status: 429,
    code: 'rate_limit_exceeded',
    retryAfter: '3',
    mayRetry: true,
  },
  {
    when: 'a key that cools down for longer than its limit says',
    failures: [status(429, {}, 3_000)],
    usableInMs: 19_900,
    status: 429,
    code: 'rate_limit_exceeded',
    retryAfter: '20',
    mayRetry: true,
  },
  {
    when: 'a limit without a wait, and a key that cools down for a while',
    failures: [status(429)],
    usableInMs: 19_900,
    status: 429,
    code: 'rate_limit_exceeded',
    retryAfter: '20',
    mayRetry: true,
  },
  {
    when: 'a limit, and another key that was not asked and is back before',
    failures: [status(429, {}, 50_000)],
    usableInMs: 5_000,
    status: 429,
    code: 'rate_limit_exceeded',
    retryAfter: '5',
    mayRetry: true,
  },
  {
    when: 'a wait of days',
    failures: [status(429, {}, 1e9)],
    status: 429,
    code: 'rate_limit_exceeded',
    retryAfter: '60',
    mayRetry: true,
  },
  {
    when: 'a wait of nothing',
    failures: [status(429, {}, 0)],
    status: 429,
    code: 'rate_limit_exceeded',
    retryAfter: '1',
    mayRetry: true,
  },
  {
    when: "the caller's mistake before a rate limit",
    failures: [status(429), status(400)],
    status: 400,
    code: 'invalid_parameter',
    mayRetry: true,
  },
  {
    when: 'our key rejected',
    failures: [status(401)],
    status: 502,
    code: 'upstream_auth_failed',
    mayRetry: false,
  },
  {
    when: 'our key forbidden',
    failures: [status(403, { type: 'permission_error' })],
    status: 502,
    code: 'upstream_auth_failed',
    mayRetry: false,
  },
  {
    when: 'a page in place of an error, which says nothing of a key',
    failures: [status(403)],
    status: 502,
    code: 'upstream_error',
    mayRetry: false,
  },
  {
    when: 'larger than the account takes at once',
    failures: [status(429, { message: 'Request too large for m in organization o' })],
    status: 413,
    code: 'request_too_large',
    mayRetry: false,
  },
  {
    when: 'too large for one account, and another one is rate limited',
    failures: [status(429), status(429, { message: 'Request too large for m in organization o' })],
    status: 429,
    code: 'rate_limit_exceeded',
    mayRetry: true,
    retryAfter: '60',
  },
  {
    when: "the tenant's own key rejected",
    failures: [status(401)],
    isOwnProvider: true,
    status: 403,
    code: 'upstream_auth_failed',
    mayRetry: false,
  },
  {
    when: 'nobody knows the model',
    failures: [unknownModel],
    status: 404,
    code: 'model_not_found',
    mayRetry: false,
  },
  {
    when: 'one knows the model and another does not',
    failures: [status(500), unknownModel],
    status: 502,
    code: 'upstream_error',
    mayRetry: false,
  },
  { when: 'too large', failures: [status(413)], status: 413, code: 'request_too_large', mayRetry: false },
  {
    when: 'too long',
    failures: [status(400, { code: 'context_length_exceeded' })],
    status: 400,
    code: 'context_length_exceeded',
    mayRetry: true,
  },
  // An error that the caller can correct is reported, whatever else failed: clients shorten a conversation, or change its words.
  ...[status(503), status(429, {}, 3_000), status(402), status(401), unknownModel, silent, reset].flatMap(
    (other): Row[] =>
      (['context_length_exceeded', 'content_policy_violation'] as const).flatMap((code) =>
        [
          [status(400, { code }), other],
          [other, status(400, { code })],
        ].map((failures) => ({
          when: `${code} beside another failure, ${failures.map(failureCode).join(', then ')}`,
          failures,
          status: 400,
          code,
          mayRetry: true,
        })),
      ),
  ),
  // A minute's wait mends no account.
  {
    when: 'out of money',
    failures: [status(402)],
    status: 429,
    code: 'rate_limit_exceeded',
    mayRetry: false,
  },
  {
    when: 'one out of money, another limited for a while',
    failures: [status(402), status(429, {}, 3_000), status(402)],
    status: 429,
    code: 'rate_limit_exceeded',
    retryAfter: '3',
    mayRetry: true,
  },
  {
    when: 'out of money before another failure',
    failures: [status(402), status(500)],
    status: 502,
    code: 'upstream_error',
    mayRetry: false,
  },
  {
    when: 'a redirect',
    failures: [status(302)],
    status: 502,
    code: 'upstream_invalid_response',
    mayRetry: false,
  },
];

test.each(rows)('$when: $status $code', (row) => {
  const error = finalError(row.failures, {
    ...facts,
    isOwnProvider: row.isOwnProvider ?? false,
    usableInMs: row.usableInMs ?? 0,
  });
  expect([error.status, error.toErrorObject('openai').code]).toEqual([row.status, row.code]);
  expect(error.headers['retry-after']).toBe(row.retryAfter);
  expect(error.headers['x-should-retry']).toBe(row.mayRetry ? undefined : 'false');
  expect(error.message).not.toContain('10.9.8.7');
});

test.each([400, 422])('the error of a %i keeps its message, type, code and parameter', (code) => {
  const words = { message: 'ä'.repeat(900), type: 'invalid_request_error', code: 'odd', param: 'tools[0]' };
  const error = finalError([status(code, words)], facts);
  expect([error.status, error.toErrorObject('openai')]).toEqual([code, words]);
  const inside = finalError([errorEvent({ ...words, status: code })], facts);
  expect(inside.toErrorObject('openai')).toEqual(words);
});

test('an error without a message gets one', () => {
  expect(finalError([status(400)], facts).message).toBe(
    "The upstream of model 'm' rejected the request without a reason. Check its fields.",
  );
});

test.each([
  [reset, 'upstream_error'],
  [silent, 'upstream_timeout'],
  [nonsense, 'upstream_error'],
  [{ kind: 'answer', fault: { kind: 'truncated' } }, 'upstream_error'],
  [errorEvent({ type: 'rate_limit_error' }), 'rate_limit_exceeded'],
  [errorEvent({ type: 'insufficient_quota' }), 'rate_limit_exceeded'],
  [errorEvent({ status: 400, message: 'quoted' }), 'upstream_error'],
  [errorEvent({ status: 401 }), 'upstream_error'],
] satisfies [AttemptFailure, string][])('inside a stream %o is reported as %s', (failure, code) => {
  const error = brokenOffError(failure, 'm');
  expect(error.code).toBe(code);
  expect(error.message).not.toMatch(/10\.9\.8\.7|quoted/);
});

test('the total timeout is not reported as silence: the stream may be healthy and its client slow', () => {
  expect(brokenOffError({ kind: 'timeout', timer: 'total' }, 'm').message).toBe(
    "The answer of model 'm' broke off: the request reached its total timeout.",
  );
});

test.each([
  ['Rate limit reached for gpt at org-x. Please try again in 1.242s. Visit x.', ' Please try again in 2s.'],
  ['Please try again in 6ms.', ' Please try again in 1s.'],
  ['Please try again in 1m12.5s.', ' Please try again in 73s.'],
  ['Try again in 5 minutes.', ' Please try again in 300s.'],
  ['try again in 20 seconds', ' Please try again in 20s.'],
  ['{"retry_after": 7}', ' Please try again in 7s.'],
  ['try again in 60 hours', ''],
  ['try again in a while, org-x', ''],
  ['limit of 40 tokens', ''],
])('in a stream, a rate limit of %j says when to retry, and nothing else', (message, reported) => {
  const { message: text } = brokenOffError(errorEvent({ type: 'rate_limit_error', message }), 'm');
  expect(text).toBe(`The answer of model 'm' broke off: the upstream reported an error.${reported}`);
  expect(brokenOffError(errorEvent({ type: 'api_error', message }), 'm').message).not.toContain('try again');
});

test('a retry time in the text of an error is passed on, in a plain answer and in a stream', () => {
  const limit = { status: 429, retryAfterMs: 2_100 };
  expect(finalError([status(429), status(429, limit)], facts).headers['retry-after']).toBe('3');
  expect(finalError([errorEvent(limit)], facts).headers['retry-after']).toBe('3');
  expect(brokenOffError(errorEvent(limit), 'm').message).toContain(' Please try again in 3s.');
});

describe('if all keys cool down for the same reason', () => {
  test.each([
    ['rejected', false, 502, 'upstream_auth_failed'],
    ['rejected', true, 403, 'upstream_auth_failed'],
    ['rate-limit', false, 429, 'rate_limit_exceeded'],
    ['out-of-money', false, 429, 'rate_limit_exceeded'],
    ['out-of-money', true, 429, 'rate_limit_exceeded'],
  ] as const)(
    '%s (own provider: %s) is reported as %i %s, as to the request that found out',
    (commonRest, isOwnProvider, status, code) => {
      const error = finalError([], {
        ...facts,
        commonCooldown: commonRest,
        isOwnProvider,
        usableInMs: 7_200,
      });
      expect(error.status).toBe(status);
      expect(error.toErrorObject('openai').code).toBe(code);
      const isTimely = commonRest === 'rate-limit';
      expect(error.headers['retry-after']).toBe(isTimely ? '8' : undefined);
      expect(error.headers['x-should-retry']).toBe(isTimely ? undefined : 'false');
    },
  );
});

test.each([
  ['one attempt at one of two targets', [unknownModel], 1],
  // Two keys of one target: the other one has not been asked.
  ['two attempts at one of two targets', [unknownModel, unknownModel], 1],
])('a model is not reported as unknown after %s', (_name, failures, targetsAsked) => {
  const error = finalError(failures, { ...facts, targets: 2, targetsAsked });
  expect([error.status, error.toErrorObject('openai').code, error.message]).toEqual([
    502,
    'upstream_error',
    "No available upstream knows model 'm'. Correct upstreamModel of its targets.",
  ]);
});

describe('an error from an upstream of another dialect', () => {
  const foreign = { isForeign: true, type: 'BadThing', code: 'odd', param: 'max_completion_tokens' };

  test('keeps its message, and gets our type, code and parameter', () => {
    const error = finalError([status(400, { ...foreign, message: 'too hot' })], facts);
    expect(error.toErrorObject('openai')).toEqual({
      message: 'too hot',
      type: 'invalid_request_error',
      code: 'invalid_parameter',
      param: null,
    });
  });

  test.each([
    [
      "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
      ' (prompt is too long: 9000 tokens > 8192 maximum)',
    ],
    ['Input exceeds the context window of this model.', ' (capability_rejected: prompt_too_long)'],
    ['prompt is too long: 210000 tokens > 200000 maximum', ''],
    [
      "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens (8500 in the messages, 500 in the completion).",
      ' (prompt is too long: 8500 tokens > 8192 maximum)',
    ],
    [
      "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens (1000 in the messages, 8000 in the completion). Please reduce it.",
      ' (input length and `max_tokens` exceed context limit: 1000 + 8000 > 8192)',
    ],
    [
      "This model's maximum context length is 8192 tokens, however you requested 9000 tokens (900 in your prompt; 8100 for the completion).",
      ' (input length and `max_tokens` exceed context limit: 900 + 8100 > 8192)',
    ],
  ])('a prompt that is too long gets the error after which Claude Code shortens it: %s', (message, added) => {
    const failure = status(400, { ...foreign, code: 'context_length_exceeded', message });
    const reported = finalError([failure], { ...facts, shape: 'messages' });
    expect([reported.code, reported.message]).toEqual(['context_length_exceeded', message + added]);
    expect(finalError([failure], facts).message).toBe(message);
  });
});

test('a prompt that is too long is recognised by the text of the error if the dialect has no code for it', () => {
  const failure = status(400, {
    type: 'invalid_request_error',
    message: 'prompt is too long: 210000 tokens > 200000 maximum',
    isForeign: true,
  });
  expect(finalError([failure], facts).code).toBe('context_length_exceeded');
});

test('a model that no upstream knows may be a baseURL without /v1, unless the upstream names the model', () => {
  expect(finalError([unknownModel], facts).message).toBe(
    "No upstream knows model 'm' (the upstream answered 404). Use another model, or correct upstreamModel of its targets.",
  );
  expect(finalError([status(404, { message: 'Nothing here.' })], facts).message).toBe(
    "No upstream knows model 'm' (the upstream answered 404). Use another model; its owner should check upstreamModel, and the path of baseURL, where /v1 may be missing.",
  );
});

test('an account without a quota for a model is no unknown model', () => {
  const message =
    'You exceeded your current quota, please check your plan and billing details. * Quota exceeded for metric: x, limit: 0, model: m';
  const reported = finalError([status(429, { message })], facts);
  expect([reported.code, reported.message]).toEqual([
    'model_not_found',
    "The upstream accounts have no quota for model 'm' (the upstream answered 429). Use another model, or raise the quota at the provider.",
  ]);
});

test('an unavailable upstream is reported with the wait of retry-after', () => {
  const reported = finalError([], { ...facts, usableInMs: 11_200 });
  expect(reported.message).toBe("No upstream of model 'm' is available. Please try again in 12s.");
  expect(reported.headers['retry-after']).toBe('12');
});

test('an answer broken off by overload is reported as overload', () => {
  const failure = errorEvent({ type: 'overloaded_error', message: 'Overloaded' });
  const reported = brokenOffError(failure, 'm');
  expect([reported.code, reported.toErrorObject('messages').type]).toEqual([
    'upstream_unavailable',
    'overloaded_error',
  ]);
});
