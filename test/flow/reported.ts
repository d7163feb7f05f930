// Why does a request fail, and what is its caller reported? The table of the outward contract: each row in every dialect, plain and
// streamed. `type` and `code` as the OpenAI routes have them, `messagesType` as the messages routes do.

import type { ErrorCode } from '../../core/catalog/error-codes.ts';
import type { DialectName, RouteEntry, Timeouts } from '../../core/contract/routing-table.ts';
import type { RawRequest } from '../support/raw-client.ts';
import type { Behaviour } from '../support/wall.ts';
import type { Endpoint } from './ask.ts';

export interface ReportedRow {
  readonly when: string;
  /** Of `gateway/request/errors.ts`. */
  readonly error: ErrorCode;
  readonly status: number;
  readonly type: string;
  readonly code: string;
  readonly messagesType: string;
  /** `x-should-retry: false`. */
  readonly isFinal: boolean;
  /** What else is said in headers; a `retry-after` that is not named here is not sent. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Byte for byte; else only that there is one. */
  readonly message?: string;
  readonly messageOnMessages?: string;
  readonly param?: string | null;
  /** What the provider does; `refused`: nobody listens there. Default: it answers, but is not asked. */
  readonly provider?: Behaviour | 'refused';
  /** How often it is asked. Default: once where `provider` says what it does, else never. */
  readonly calls?: number;
  /** What the upstream speaks; default: as the client does. */
  readonly upstream?: DialectName;
  readonly isOwnProvider?: boolean;
  readonly hasNoTable?: boolean;
  /** The gateway has a bug where it chooses an upstream. */
  readonly hasBug?: boolean;
  /** The failures before this one have opened the provider's circuit. */
  readonly isOpen?: boolean;
  readonly timeouts?: Timeouts;
  readonly retryOn?: RouteEntry['failover']['retryOn'];
  readonly endpoints?: readonly Endpoint[];
  /** How the request differs from a good one. */
  readonly request?: (good: GoodRequest) => RawRequest;
}

export interface GoodRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>>;
}

const invalid = 'invalid_request_error';
const words = 'Ünusual words – kept byte for byte, "quotes" too';

const bad = (
  error:
    | 'invalid_parameter'
    | 'unsupported_parameter'
    | 'context_length_exceeded'
    | 'content_policy_violation',
) => ({ error, status: 400, type: invalid, code: error, messagesType: invalid, isFinal: false });

const badKey = {
  error: 'invalid_api_key',
  status: 401,
  type: invalid,
  code: 'invalid_api_key',
  messagesType: invalid,
  isFinal: true,
  headers: { 'www-authenticate': 'Bearer' },
} as const;

const noModel = {
  error: 'model_not_found',
  status: 404,
  type: invalid,
  code: 'model_not_found',
  messagesType: 'not_found_error',
  isFinal: true,
} as const;

const gone = {
  error: 'not_found',
  status: 404,
  type: invalid,
  code: 'not_found',
  messagesType: 'not_found_error',
  isFinal: false,
} as const;

const limited = {
  error: 'rate_limit_exceeded',
  status: 429,
  type: 'rate_limit_error',
  code: 'rate_limit_exceeded',
  messagesType: 'rate_limit_error',
  isFinal: false,
} as const;

const upstream = (error: 'upstream_error' | 'upstream_invalid_response' | 'upstream_auth_failed') => ({
  error,
  status: 502,
  type: 'server_error',
  code: error,
  messagesType: 'api_error',
  isFinal: true,
});

const timedOut = {
  error: 'upstream_timeout',
  status: 504,
  type: 'server_error',
  code: 'upstream_timeout',
  messagesType: 'timeout_error',
  isFinal: true,
} as const;

const withKey = (key: string) => (good: GoodRequest) => ({
  ...good,
  headers: { authorization: `Bearer ${key}` },
});

/** What a provider says of itself, and of the account it serves: nobody outside may read it. */
export const accountHeaders = {
  'x-request-id': 'acct-canary-request',
  'openai-organization': 'acct-canary-organization',
  'anthropic-organization-id': 'acct-canary-organization',
  'x-ratelimit-remaining-requests': 'acct-canary-rest',
  'anthropic-ratelimit-requests-remaining': 'acct-canary-rest',
  'set-cookie': 'acct-canary=1',
  'www-authenticate': 'acct-canary realm',
  'x-should-retry': 'true',
  server: 'acct-canary-server',
};

const status = (code: number, more: Partial<Extract<Behaviour, { type: 'status' }>> = {}): Behaviour => ({
  type: 'status',
  status: code,
  error: { message: 'the account acct-canary at http://10.1.2.3 is in trouble' },
  ...more,
  headers: { ...accountHeaders, ...more.headers },
});

/** It may pass by itself, and clients have another model for it. */
const overloaded = {
  error: 'upstream_overloaded',
  status: 503,
  type: 'server_error',
  code: 'upstream_overloaded',
  messagesType: 'overloaded_error',
  isFinal: false,
  calls: 3,
  headers: { 'retry-after': '2', 'retry-after-ms': '2000' },
} as const;

const openAiOnly = ['chat', 'completions', 'responses'] as const;

export const reportedRows: readonly ReportedRow[] = [
  { ...bad('invalid_parameter'), when: 'malformed JSON', request: (good) => ({ ...good, body: '{' }) },
  {
    ...bad('invalid_parameter'),
    when: 'a member of the wrong type',
    param: 'model',
    request: (good) => ({ ...good, body: { ...good.body, model: 5 } }),
  },
  {
    ...bad('invalid_parameter'),
    when: 'a member that is missing',
    param: 'model',
    request: (good) => ({ ...good, body: { ...good.body, model: undefined } }),
  },
  {
    ...bad('invalid_parameter'),
    when: 'a member that names another upstream',
    param: 'api_base',
    request: (good) => ({ ...good, body: { ...good.body, api_base: 'http://elsewhere.test/v1' } }),
  },
  {
    ...bad('unsupported_parameter'),
    when: 'a field that this upstream cannot be reported',
    upstream: 'openai-completions',
    endpoints: ['chat', 'messages', 'responses'],
    param: 'tools',
    request: (good) => ({ ...good, body: { ...good.body, tools: toolsOf(good.path) } }),
  },
  { ...badKey, when: 'no key', request: (good) => ({ ...good, headers: {} }) },
  { ...badKey, when: 'a short key', request: withKey('psk_short') },
  { ...badKey, when: 'an unknown key', request: withKey(`psk_${'u'.repeat(49)}`) },
  { ...badKey, when: 'a key of somebody else', request: withKey(`sk-${'k'.repeat(49)}`) },
  {
    ...noModel,
    when: 'an unknown model',
    param: 'model',
    request: (good) => ({ ...good, body: { ...good.body, model: 'gone' } }),
  },
  { ...gone, when: 'an unknown route', request: (good) => ({ ...good, path: `${good.path}/x` }) },
  {
    error: 'method_not_allowed',
    when: 'a wrong method',
    status: 405,
    type: invalid,
    code: 'method_not_allowed',
    messagesType: invalid,
    isFinal: false,
    headers: { allow: 'POST' },
    request: ({ path, headers }) => ({ method: 'DELETE', path, headers }),
  },
  {
    error: 'request_too_large',
    when: 'a body that says it is too large',
    status: 413,
    type: invalid,
    code: 'request_too_large',
    messagesType: 'request_too_large',
    isFinal: true,
    headers: { connection: 'close' },
    request: ({ path, headers }) => ({
      method: 'POST',
      path,
      headers: { ...headers, 'content-type': 'application/json', 'content-length': String(33 * 1024 * 1024) },
    }),
  },
  {
    error: 'unsupported_media_type',
    when: 'a body that is not JSON',
    status: 415,
    type: invalid,
    code: 'unsupported_media_type',
    messagesType: invalid,
    isFinal: false,
    request: (good) => ({ ...good, headers: { ...good.headers, 'content-type': 'text/plain' } }),
  },
  {
    error: 'unsupported_media_type',
    when: 'a compressed body',
    status: 415,
    type: invalid,
    code: 'unsupported_media_type',
    messagesType: invalid,
    isFinal: false,
    request: (good) => ({
      ...good,
      headers: { ...good.headers, 'content-type': 'application/json', 'content-encoding': 'zstd' },
    }),
  },
  {
    error: 'upgrade_not_supported',
    when: 'a WebSocket',
    status: 426,
    type: invalid,
    code: 'upgrade_not_supported',
    messagesType: invalid,
    isFinal: true,
    endpoints: ['responses'],
    request: ({ path, headers }) => ({
      path,
      headers: { ...headers, connection: 'Upgrade', upgrade: 'websocket' },
    }),
  },
  {
    error: 'headers_too_large',
    when: 'headers that are too large',
    status: 431,
    type: invalid,
    code: 'headers_too_large',
    messagesType: invalid,
    isFinal: false,
    // Whose shape is meant is in the headers that were not read.
    endpoints: openAiOnly,
    headers: { connection: 'close' },
    request: (good) => ({ ...good, headers: { ...good.headers, 'x-large': 'x'.repeat(20_000) } }),
  },
  {
    error: 'not_ready',
    when: 'a gateway without a table',
    status: 503,
    type: 'server_error',
    code: 'not_ready',
    messagesType: 'overloaded_error',
    isFinal: false,
    hasNoTable: true,
    headers: { 'retry-after': '1', 'retry-after-ms': '1000' },
  },
  {
    error: 'internal_error',
    when: 'a bug of the gateway',
    status: 500,
    type: 'server_error',
    code: 'internal_error',
    messagesType: 'api_error',
    isFinal: false,
    hasBug: true,
  },

  // What the upstream says of the request itself.
  {
    ...bad('invalid_parameter'),
    when: 'a provider refuses a parameter: its words and code are kept',
    provider: status(400, { error: { type: invalid, code: 'too_hot', message: words } }),
    code: 'too_hot',
    message: words,
  },
  {
    ...bad('invalid_parameter'),
    when: 'a provider does not understand the request',
    status: 422,
    provider: status(422, { error: { type: invalid, code: 'not_so', message: words } }),
    code: 'not_so',
    message: words,
  },
  {
    ...bad('invalid_parameter'),
    when: 'a provider of another dialect does not understand the request: code and type are ours',
    provider: status(422, { error: { type: 'BadThing', code: 'not_so', message: words } }),
    upstream: 'anthropic-messages',
    endpoints: openAiOnly,
    message: words,
  },
  {
    ...bad('invalid_parameter'),
    when: 'an OpenAI provider refuses the request of an Anthropic client',
    provider: status(400, { error: { type: 'BadThing', code: 'not_so', message: words } }),
    upstream: 'openai-chat',
    endpoints: ['messages'],
    message: words,
  },
  {
    ...bad('context_length_exceeded'),
    when: 'the prompt is too long',
    provider: status(400, {
      error: {
        type: invalid,
        code: 'context_length_exceeded',
        message: 'prompt is too long: 9 tokens > 8 maximum',
      },
    }),
    message: 'prompt is too long: 9 tokens > 8 maximum',
  },
  {
    ...bad('context_length_exceeded'),
    when: 'prompt and answer are too long together, for an Anthropic client of an OpenAI provider',
    provider: status(400, {
      error: {
        type: invalid,
        code: 'context_length_exceeded',
        message:
          "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens (1000 in the messages, 8000 in the completion).",
      },
    }),
    upstream: 'openai-chat',
    endpoints: ['messages'],
    messageOnMessages:
      "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens (1000 in the messages, 8000 in the completion). (input length and `max_tokens` exceed context limit: 1000 + 8000 > 8192)",
  },
  {
    ...bad('content_policy_violation'),
    when: 'the provider refuses the content',
    provider: status(400, { error: { type: invalid, code: 'content_policy_violation', message: words } }),
    message: words,
  },
  {
    error: 'request_too_large',
    when: 'the request is too large for the provider',
    status: 413,
    type: invalid,
    code: 'request_too_large',
    messagesType: 'request_too_large',
    isFinal: true,
    provider: status(413, { error: { message: words } }),
    message: words,
  },

  // What the upstream says of others.
  ...[401, 403].map(
    (code): ReportedRow => ({
      ...upstream('upstream_auth_failed'),
      when: `${code} for the platform's key`,
      provider: status(code),
    }),
  ),
  ...[401, 403].map(
    (code): ReportedRow => ({
      error: 'upstream_key_rejected',
      when: `${code} for the caller's own key`,
      status: 403,
      type: invalid,
      code: 'upstream_auth_failed',
      messagesType: 'permission_error',
      isFinal: true,
      provider: status(code),
      isOwnProvider: true,
    }),
  ),
  {
    ...limited,
    when: '402: the platform has no money there',
    provider: status(402),
    isFinal: true,
  },
  {
    ...limited,
    when: 'the platform has no money there, in the words of Anthropic',
    provider: status(400, {
      error: {
        type: invalid,
        message:
          'Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade.',
      },
    }),
    isFinal: true,
  },
  {
    ...noModel,
    when: '404 from every provider',
    provider: status(404),
    param: 'model',
  },
  ...[408, 409, 500, 502, 504].map(
    (code): ReportedRow => ({
      ...upstream('upstream_error'),
      when: `${code}`,
      provider: status(code),
      calls: 2,
    }),
  ),
  { ...upstream('upstream_error'), when: '501', provider: status(501) },
  ...[503, 529].flatMap((code): ReportedRow[] => [
    { ...overloaded, when: `${code}`, endpoints: openAiOnly, provider: status(code) },
    {
      ...overloaded,
      error: 'upstream_overloaded_529',
      status: 529,
      when: `${code} to a client of messages`,
      endpoints: ['messages'],
      provider: status(code),
    },
  ]),
  {
    ...overloaded,
    when: '503 with a wait of a minute',
    endpoints: openAiOnly,
    provider: status(503, { headers: { 'retry-after': '60' } }),
    calls: 1,
    headers: { 'retry-after': '60', 'retry-after-ms': '60000' },
  },
  {
    ...limited,
    when: '429 with a wait',
    provider: status(429, { headers: { 'retry-after': '7' } }),
    headers: { 'retry-after': '7', 'retry-after-ms': '7000' },
  },
  {
    ...limited,
    when: '429 with a wait of a day',
    provider: status(429, { headers: { 'retry-after': '86400' } }),
    headers: { 'retry-after': '60', 'retry-after-ms': '60000' },
  },
  { ...upstream('upstream_error'), when: 'no server listens', provider: 'refused' },
  { ...upstream('upstream_error'), when: 'a reset', provider: { type: 'reset' }, calls: 2 },
  { ...upstream('upstream_invalid_response'), when: 'a page of HTML', provider: { type: 'html' } },
  { ...upstream('upstream_invalid_response'), when: 'an empty answer', provider: { type: 'empty' } },
  {
    ...upstream('upstream_invalid_response'),
    when: 'a redirect',
    provider: { type: 'redirect', location: 'http://10.1.2.3/acct-canary' },
  },
  {
    ...timedOut,
    when: 'silence',
    provider: { type: 'hang', when: 'before-headers' },
    timeouts: { totalMs: 400 },
  },
  {
    error: 'upstream_unavailable',
    when: 'every circuit is open',
    status: 503,
    type: 'server_error',
    code: 'upstream_unavailable',
    messagesType: 'overloaded_error',
    isFinal: true,
    provider: status(501),
    isOpen: true,
    calls: 1,
    headers: { 'retry-after': '60', 'retry-after-ms': '60000' },
  },
];

/** One tool, as each dialect has it. */
function toolsOf(path: string): readonly object[] {
  const schema = { type: 'object', properties: {} };
  if (path.endsWith('/messages')) return [{ name: 'clock', input_schema: schema }];
  const described = { name: 'clock', parameters: schema };
  return path.endsWith('/responses')
    ? [{ type: 'function', ...described }]
    : [{ type: 'function', function: described }];
}

/** Codes that no single request can be given here, and where they are shown. */
export const shownElsewhere: Readonly<Partial<Record<ErrorCode, string>>> = {
  request_timeout: 'test/gateway/endpoints/slow-senders.test.ts',
  model_not_priced: 'test/flow/unpriced.test.ts',
  model_unavailable: 'test/flow/unavailable.test.ts',
  insufficient_quota: 'test/gateway/limits/budgets.test.ts',
  billing_error: 'test/gateway/limits/budgets.test.ts',
  limits_unavailable: 'test/gateway/limits/limits.test.ts',
  answer_too_large: 'test/gateway/endpoints/too-large-answers.test.ts',
  overloaded: 'test/gateway/endpoints/closing.test.ts',
  server_shutting_down: 'test/flow/drain.test.ts',
};
