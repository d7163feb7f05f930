// What does each failure mean? Every status, with and without words, as a status and as an error event.

import { describe, expect, test } from 'vitest';
import { errorQuirks } from '../../../gateway/attempt/error-quirks.ts';
import {
  type AttemptFailure,
  failureCode,
  type Judgement,
  judgeFailure,
} from '../../../gateway/attempt/failure.ts';
import type { UpstreamError } from '../../../gateway/dialects/dialect.ts';

const notAuthorized = 'User: arn:aws:iam::123456789012:user/BedrockAPIKey-x is not authorized to perform:';
const noWords: UpstreamError = { message: '', type: null, code: null, param: null, status: null };

/** Reason, what is to blame, what the caller is reported; then the marks that are set. */
type Verdict = readonly [
  reason: Judgement['reason'],
  scope: Judgement['scope'],
  code: Judgement['code'],
  ...marks: ('same' | 'health' | NonNullable<Judgement['keyCooldown']>)[],
];

function verdictOf(failure: AttemptFailure): Verdict {
  const { reason, scope, code, mayRetrySame, isHealthSignal, keyCooldown: keyRest } = judgeFailure(failure);
  return [
    reason,
    scope,
    code,
    ...(mayRetrySame ? (['same'] as const) : []),
    ...(isHealthSignal ? (['health'] as const) : []),
    ...(keyRest === null ? [] : [keyRest]),
  ];
}

const serverError: Verdict = ['ServerError', 'target', 'upstream_error', 'same', 'health'];
const overloaded: Verdict = ['Overloaded', 'target', 'upstream_overloaded', 'health'];
const rejected: Verdict = ['AuthFailure', 'key', 'upstream_auth_failed', 'rejected'];
const forbidden: Verdict = ['AuthFailure', 'key', 'upstream_auth_failed'];
const wordless: Verdict = ['AuthFailure', 'key', 'upstream_error'];
const tooMuch: Verdict = ['RateLimited', 'key-model', 'request_too_large'];
const limited: Verdict = ['RateLimited', 'key-model', 'rate_limit_exceeded', 'same', 'rate-limit'];
const broke: Verdict = ['RateLimited', 'key', 'rate_limit_exceeded', 'out-of-money'];
const mistake: Verdict = [null, 'target', 'invalid_parameter'];
const tooLong: Verdict = ['ContextLengthExceeded', 'target', 'context_length_exceeded'];
const filtered: Verdict = ['ContentFiltered', 'target', 'content_policy_violation'];
const unknown: Verdict = ['ModelNotFound', 'target', 'model_not_found'];
const nonsense: Verdict = ['ServerError', 'target', 'upstream_invalid_response', 'health'];

const byStatus: Readonly<Record<number, Verdict>> = {
  401: rejected,
  402: broke,
  403: wordless,
  404: nonsense,
  405: nonsense,
  407: ['ServerError', 'endpoint', 'upstream_error', 'health'],
  408: serverError,
  409: serverError,
  410: nonsense,
  413: [null, 'target', 'request_too_large'],
  421: serverError,
  425: serverError,
  429: limited,
  500: serverError,
  502: serverError,
  503: overloaded,
  504: serverError,
  529: overloaded,
};

function expectedOf(status: number): Verdict {
  const known = byStatus[status];
  if (known) return known;
  if (status >= 500) return ['ServerError', 'target', 'upstream_error', 'health'];
  return status >= 400 ? mistake : nonsense;
}

const statuses = Array.from({ length: 499 }, (_, index) => index + 101).filter((status) => status !== 200);

test('every status from 101 to 599 is classified', () => {
  const judged = statuses.map((status) => [
    status,
    verdictOf({ kind: 'status', status, error: noWords, retryAfterMs: undefined }),
  ]);
  expect(judged).toEqual(statuses.map((status) => [status, expectedOf(status)]));
});

/** Words that overrule the status. */
const words: readonly (readonly [Partial<UpstreamError>, Readonly<Record<number, Verdict>>])[] = [
  [{ type: 'insufficient_quota' }, { 400: broke, 403: broke, 429: broke, 500: broke }],
  [{ code: 'insufficient_quota' }, { 429: broke }],
  [{ code: 'credit_balance_exhausted' }, { 400: broke, 429: broke }],
  [{ code: 'billing_hard_limit_reached' }, { 400: broke, 402: broke, 429: broke }],
  [{ code: 'context_length_exceeded' }, { 400: tooLong, 422: tooLong, 500: serverError }],
  [{ code: 'content_policy_violation' }, { 400: filtered, 422: filtered }],
  [{ code: 'content_filter' }, { 400: filtered }],
  [{ code: 'moderation_blocked' }, { 400: filtered, 403: filtered }],
  // What a key may not do is reported with 403 too, where it is good for everything else.
  [{ type: 'permission_error', message: 'Your API key does not have permission' }, { 403: forbidden }],
  [{ code: 'AccessDeniedException', message: "You don't have access to the model" }, { 403: forbidden }],
  [{ message: 'Forbidden' }, { 403: forbidden }],
  [
    { type: 'invalid_request_error', code: 'model_not_found', message: 'Project `p` does not have access' },
    { 403: ['ModelNotFound', 'key', 'model_not_found'] },
  ],
  [{ type: 'invalid_request_error', code: 'content_policy_violation' }, { 403: filtered }],
  [
    { code: '403', message: 'x requires moderation on y. Your input was flagged for "violence".' },
    { 403: filtered },
  ],
  ...['authentication_error', 'account_deactivated', 'invalid_api_key', 'api_key_revoked'].map(
    (code): (typeof words)[number] => [{ code }, { 403: rejected }],
  ),
  [
    {
      type: 'invalid_request_error',
      message: 'You have insufficient permissions for this operation. Missing scopes: api.responses.write.',
    },
    { 401: forbidden },
  ],
  // A right to a model, and the right to use the key at all.
  [{ message: `${notAuthorized} bedrock:InvokeModel on resource: x` }, { 401: forbidden, 403: forbidden }],
  [
    { message: `${notAuthorized} bedrock:CallWithBearerToken on resource: x`, type: 'permission_error' },
    { 401: rejected, 403: rejected },
  ],
  // One request that is too large by itself, reported with the code of any limit or with none.
  [
    {
      type: 'tokens',
      code: 'rate_limit_exceeded',
      message:
        'Request too large for m in organization o on tokens per min (TPM): Limit 30000, Requested 30601.',
    },
    { 429: tooMuch, 400: mistake },
  ],
  [
    {
      type: 'tokens',
      code: 'rate_limit_exceeded',
      message: 'Rate limit reached for m on tokens per min (TPM): Limit 10000, Used 8554, Requested 3082.',
    },
    { 429: limited },
  ],
  ...[[27_342, tooMuch] as const, [99, tooMuch] as const, [5, tooMuch] as const, [0, broke] as const].map(
    ([left, verdict]): (typeof words)[number] => [
      {
        code: '402',
        message: `This request requires more credits, or fewer max_tokens. You requested up to 32000 tokens, but can only afford ${left}. To increase, visit https://a.example`,
      },
      { 402: verdict },
    ],
  ),
  [
    { code: '402', message: 'Prompt tokens limit exceeded: 230799 > 91442. To increase, visit' },
    { 402: tooMuch },
  ],
  [
    { code: 'rate_limit_exceeded', type: 'requests' },
    { 429: limited, 400: mistake },
  ],
  [{ code: 'invalid_api_key' }, { 401: rejected, 400: mistake }],
  [{ type: 'billing_error' }, { 400: broke, 402: broke, 429: broke }],
  // As OpenAI says it of an account that was closed, DashScope, Moonshot and Groq of one that is in arrears.
  [{ code: 'billing_not_active', type: 'billing_not_active' }, { 429: broke }],
  [
    { code: 'Arrearage', type: 'Arrearage' },
    { 400: broke, 403: broke },
  ],
  [{ type: 'exceeded_current_quota_error' }, { 403: broke, 429: broke }],
  [{ code: 'blocked_api_access', type: 'invalid_request_error' }, { 400: broke }],
  [
    { code: 'organization_restricted', type: 'invalid_request_error' },
    { 400: rejected, 403: rejected },
  ],
  // 404 of a model, of something else that the request names, and of a wrong address.
  ...[
    { type: 'invalid_request_error', code: 'model_not_found', message: 'The model `x` does not exist' },
    { type: 'not_found_error', message: 'model: x' },
    { code: 'DeploymentNotFound', message: 'The API deployment for this resource does not exist' },
    { message: 'Not found: model x' },
    { type: 'invalid_request_error', message: 'No such File object: file-1' },
    { message: 'The model `x` was retired and is gone' },
  ].map((error): (typeof words)[number] => [error, { 404: unknown, 410: unknown, 405: nonsense }]),
  // Prompts that are too long, in the words of those who have no code for it.
  ...[
    'prompt is too long: 210000 tokens > 200000 maximum',
    "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
    'Your input exceeds the context window of this model. Please adjust your input and try again.',
    'The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).',
    'The input token count exceeds the maximum number of tokens allowed (1048576).',
    "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    'request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it',
    'Input is too long for requested model.',
  ].map((message): (typeof words)[number] => [
    { type: 'invalid_request_error', message },
    { 400: tooLong, 429: limited, 500: serverError },
  ]),
  // Keys that are refused with the status of the caller's mistakes.
  ...[
    'API key not valid. Please pass a valid API key.',
    'API key expired. Please renew the API key.',
    'Incorrect API key provided: xa***gA. You can obtain an API key from https://console.example.',
  ].flatMap((message): (typeof words)[number][] => [
    [
      { code: '400', message },
      { 400: rejected, 401: rejected },
    ],
    [{ code: '400', message: `messages.0: "${message}" is odd` }, { 400: mistake }],
  ]),
  // Models that are not there, likewise.
  ...[
    {
      type: 'invalid_request_error',
      code: 'model_not_found',
      message: "The requested model 'x' does not exist.",
    },
    { type: 'invalid_model', code: '1500', message: 'Invalid model: x' },
    { type: 'invalid_request_error', message: 'Model Not Exist' },
    { code: '400', message: 'vendor/x:free is not a valid model ID' },
  ].map((error): (typeof words)[number] => [error, { 400: unknown, 404: unknown, 422: unknown }]),
  ...['messages.0: "Model Not Exist" is odd', 'messages.0: "x is not a valid model ID" is odd'].map(
    (message): (typeof words)[number] => [{ type: 'invalid_request_error', message }, { 400: mistake }],
  ),
  ...[
    { message: 'Not Found' },
    { type: 'not_found_error', message: 'Not Found' },
    { code: '404', message: 'Resource not found' },
    { type: 'invalid_request_error', message: 'Invalid URL (POST /v2/chat/completions)' },
    { message: '404 page not found' },
    { message: 'Cannot POST /chat' },
    { message: 'Gone' },
    { message: '410 Gone' },
  ].map((error): (typeof words)[number] => [error, { 404: nonsense, 410: nonsense }]),
  // Of messages only what Anthropic says from their beginning, for which it has no code.
  ...[
    'Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.',
    'You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC.',
    'You have reached your specified workspace API usage limits. You will regain access on 2026-12-01 at 00:00 UTC.',
  ].flatMap((message): (typeof words)[number][] => [
    [
      { message, type: 'invalid_request_error' },
      { 400: broke, 403: broke, 429: broke },
    ],
    // Further on a message may quote the caller.
    [
      { message: `messages.0: "${message}" is odd`, type: 'invalid_request_error' },
      { 400: mistake, 429: limited },
    ],
  ]),
  [{ message: 'insufficient_quota context_length content_filter' }, { 400: mistake, 429: limited }],
];

test.each(
  words.flatMap(([error, verdicts]) =>
    Object.entries(verdicts).map(
      ([status, verdict]) => [JSON.stringify(error), Number(status), error, verdict] as const,
    ),
  ),
)('%s with %i', (_name, status, error, verdict) => {
  expect(
    verdictOf({ kind: 'status', status, error: { ...noWords, ...error }, retryAfterMs: undefined }),
  ).toEqual(verdict);
});

function onceOnly([reason, scope, code, ...marks]: Verdict): Verdict {
  return [reason, scope, code, ...marks.filter((mark) => mark !== 'same')];
}

describe('an error inside a 200', () => {
  test('is treated as the status that it names, but the same target is not asked again', () => {
    const errors = statuses.filter((status) => status >= 400);
    const judged = errors.map((status) => [status, verdictOf(errorEvent({ status }))]);
    expect(judged).toEqual(errors.map((status) => [status, onceOnly(expectedOf(status))]));
  });

  test.each([
    [{ type: 'insufficient_quota' }, broke],
    [{ type: 'billing_error' }, broke],
    [{ code: 'Arrearage' }, broke],
    [
      {
        type: 'invalid_request_error',
        message: 'Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing.',
      },
      broke,
    ],
    [{ type: 'rate_limit_error' }, limited],
    [{ code: 'rate_limit_exceeded' }, limited],
    [{ type: 'overloaded_error' }, overloaded],
    [{ type: 'authentication_error' }, rejected],
    [{ code: 'invalid_api_key' }, rejected],
    [{ type: 'permission_error' }, forbidden],
    [{ type: 'invalid_request_error' }, mistake],
    [{ type: 'invalid_request_error', code: 'invalid_api_key' }, rejected],
    [{ type: 'invalid_request_error', code: 'context_length_exceeded' }, tooLong],
    [{ type: 'invalid_request_error', code: 'content_policy_violation' }, filtered],
    // Responses upstreams give a code and no type.
    [{ code: 'context_length_exceeded' }, tooLong],
    [{ code: 'content_policy_violation' }, filtered],
    [{ code: 'invalid_prompt' }, mistake],
    [{ code: 'slow_down' }, overloaded],
    [{ code: 'server_is_overloaded' }, overloaded],
    [{ type: 'server_error' }, serverError],
    [{}, serverError],
  ] satisfies [Partial<UpstreamError>, Verdict][])('%o', (error, verdict) => {
    expect(verdictOf(errorEvent(error))).toEqual(onceOnly(verdict));
  });
});

test.each([
  ['egress_denied', ['ConnectFailure', 'endpoint', 'upstream_error', 'health']],
  ['connect_timeout', ['ConnectFailure', 'endpoint', 'upstream_timeout', 'health']],
  ['dns_failed', ['ConnectFailure', 'endpoint', 'upstream_error', 'same', 'health']],
  ['connect_refused', ['ConnectFailure', 'endpoint', 'upstream_error', 'same', 'health']],
  ['connect_failed', ['ConnectFailure', 'endpoint', 'upstream_error', 'same', 'health']],
  ['tls_failed', ['ConnectFailure', 'endpoint', 'upstream_error', 'same', 'health']],
  ['proxy_failed', ['ConnectFailure', 'endpoint', 'upstream_error', 'same', 'health']],
  ['session_failed', wordless],
  ['reset', ['ConnectFailure', 'endpoint', 'upstream_error', 'same', 'health']],
] satisfies [(AttemptFailure & { kind: 'transport' })['code'], Verdict][])(
  'transport: %s',
  (code, verdict) => {
    const failure: AttemptFailure = { kind: 'transport', code, detail: '' };
    expect(verdictOf(failure)).toEqual(verdict);
    expect(failureCode(failure)).toBe(code);
  },
);

test.each([
  ['first-event', ['Timeout', 'target', 'upstream_timeout', 'health'], 'timeout_first_event'],
  ['liveness', ['Timeout', 'target', 'upstream_timeout', 'health'], 'timeout_liveness'],
  ['progress', ['Timeout', 'target', 'upstream_timeout', 'health'], 'timeout_progress'],
  // Where the request has no time left, nobody else is asked.
  ['total', ['Timeout', 'target', 'upstream_timeout', 'health'], 'timeout_total'],
] satisfies ['first-event' | 'liveness' | 'progress' | 'total', Verdict, string][])(
  'timeout: %s',
  (timer, verdict, code) => {
    const failure: AttemptFailure = { kind: 'timeout', timer };
    expect(verdictOf(failure)).toEqual(verdict);
    expect(failureCode(failure)).toBe(code);
  },
);

test('an invalid answer is never asked again of the same target', () => {
  expect(verdictOf({ kind: 'head', detail: '' })).toEqual(nonsense);
  expect(verdictOf({ kind: 'answer', fault: { kind: 'truncated' } })).toEqual(nonsense);
  expect(verdictOf({ kind: 'answer', fault: { kind: 'malformed', detail: 'HTML' } })).toEqual(nonsense);
});

/** Whether the upstream may have begun to do what it was asked. */
const actedOn: readonly (readonly [name: string, failure: AttemptFailure, mayHaveActed: boolean])[] = [
  ...([400, 401, 402, 403, 404, 405, 407, 410, 421, 425, 429, 503, 529] as const).map(
    (status) => [`${status}`, refusal(status), status === 400] as const,
  ),
  ...([408, 409, 500, 502, 504, 302] as const).map((status) => [`${status}`, refusal(status), true] as const),
  ...(
    [
      'egress_denied',
      'connect_timeout',
      'dns_failed',
      'connect_refused',
      'tls_failed',
      'session_failed',
    ] as const
  ).map((code) => [code, { kind: 'transport', code, detail: '' }, false] as const),
  ['reset', { kind: 'transport', code: 'reset', detail: '' }, true],
  ['a head that cannot be read', { kind: 'head', detail: '' }, true],
  ['silence', { kind: 'timeout', timer: 'first-event' }, true],
  ['429 inside a 200', errorEvent({ status: 429 }), true],
  ['a cut answer', { kind: 'answer', fault: { kind: 'truncated' } }, true],
];

test.each(actedOn)(
  '%s: the upstream may or may not have acted on the request',
  (_name, failure, mayHaveActed) => {
    expect(judgeFailure(failure).mayHaveActed).toBe(mayHaveActed);
  },
);

test('an answer that is too large for the gateway causes no failover and counts against no breaker', () => {
  expect(judgeFailure({ kind: 'answer', fault: { kind: 'too-large', detail: '' } })).toMatchObject({
    reason: null,
    isHealthSignal: false,
    mayRetrySame: false,
    code: 'answer_too_large',
  });
});

test('an assured answer that is unusable as a whole moves on and counts against no breaker', () => {
  const failure: AttemptFailure = { kind: 'answer', fault: { kind: 'unusable', detail: '' } };
  expect(verdictOf(failure)).toEqual(['ServerError', 'target', 'upstream_invalid_response']);
  expect(failureCode(failure)).toBe('unusable');
});

test('the ledger has one word for each failure', () => {
  expect(failureCode({ kind: 'status', status: 529, error: noWords, retryAfterMs: undefined })).toBe(
    'status_529',
  );
  expect(failureCode(errorEvent({ message: 'secret' }))).toBe('error_event');
  expect(failureCode({ kind: 'gateway', code: 'no_room' })).toBe('no_room');
  expect(failureCode({ kind: 'answer', fault: { kind: 'malformed', detail: 'secret' } })).toBe('malformed');
  expect(failureCode({ kind: 'answer', fault: { kind: 'too-large', detail: '' } })).toBe('too_large');
});

test('all upstream statuses map to a few words in the ledger', () => {
  const words = new Set(Array.from({ length: 900 }, (_, n) => failureCode(refusal(n + 100))));
  expect(words.size).toBeLessThan(80);
  expect([402, 524, 529, 418].map((status) => failureCode(refusal(status)))).toEqual([
    ...['status_402', 'status_524', 'status_529', 'status_418'],
  ]);
  expect([467, 599, 999].map((status) => failureCode(refusal(status)))).toEqual([
    ...['status_4xx', 'status_5xx', 'status_other'],
  ]);
});

function errorEvent(error: Partial<UpstreamError>): AttemptFailure {
  return { kind: 'answer', fault: { kind: 'error-event', error: { ...noWords, ...error } } };
}

function refusal(status: number): AttemptFailure {
  return { kind: 'status', status, error: noWords, retryAfterMs: undefined };
}

describe('the quirks of vendors', () => {
  test('each row names its vendor, its source and the month', () => {
    for (const { vendor, source, seen, phrase, word } of errorQuirks) {
      expect(vendor).toMatch(/\w/);
      expect(source).toMatch(/^https:\/\/|^not recorded$/);
      expect(seen).toMatch(/^20\d\d-\d\d$/);
      expect(phrase ?? word, vendor).toBeDefined();
    }
  });

  const ofSize = (message: string, input: number, output: number): Verdict =>
    verdictOf({
      kind: 'status',
      status: 429,
      error: { ...noWords, message },
      retryAfterMs: undefined,
      size: { input, output },
    });
  const anthropic = (kind: string): string =>
    `This request would exceed the rate limit for your organization (1-2) of 30,000 ${kind} tokens per minute.`;
  const xai =
    "Too many tokens for team 1-2 and model grok-4-0709. Your team's rate limit is — Tokens per Minute (actual/limit): 65605/16000.";

  test.each([
    [anthropic('input'), 30_001, 0, tooMuch],
    [anthropic('input'), 30_000, 99_999, limited],
    [anthropic('output'), 99_999, 30_000, limited],
    [anthropic('output'), 0, 30_001, tooMuch],
    [xai, 16_001, 0, tooMuch],
    [xai, 16_000, 0, limited],
  ] as const)('%s for %i tokens in and %i out', (message, input, output, verdict) => {
    expect(ofSize(message, input, output)).toEqual(verdict);
    expect(
      verdictOf({ kind: 'status', status: 429, error: { ...noWords, message }, retryAfterMs: undefined }),
    ).toEqual(limited);
  });
});
