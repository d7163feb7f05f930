// Which errors does the gateway answer, with which status, and whose fault is each? One row each, by its name in the gateway.

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
   * False: `x-should-retry: false` keeps SDKs from retries of their own, because a retry cannot help, or because the gateway
   * has made it already. A whole fleet that tries three times multiplies what the gateway has tried three times.
   */
  readonly mayRetry: boolean;
  /** `error.code` if it is not the row's own name: the code an SDK or CLI keys on. */
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

// `docs/errors.md` has a row for each; a test compares them.
const rows = {
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
  model_unavailable: row(503, 'server_error', 'overloaded_error', 'gateway', true),
  not_ready: row(503, 'server_error', 'overloaded_error', 'gateway', true),
  limits_unavailable: row(503, 'server_error', 'overloaded_error', 'gateway', true),
  overloaded: row(503, 'server_error', 'overloaded_error', 'gateway', true),
  server_shutting_down: row(503, 'server_error', 'overloaded_error', 'gateway', true),
  upstream_timeout: row(504, 'server_error', 'timeout_error', 'upstream', false),
} as const satisfies Record<string, ErrorRow>;

export type ErrorCode = keyof typeof rows;

export const ERROR_CODES: Readonly<Record<ErrorCode, ErrorRow>> = rows;
