// What did an upstream do where an attempt failed? In words that follow its name: "openai answered HTTP 500".

import type { ErrorCode } from '../../core/catalog/error-codes.ts';

const words: Readonly<Record<string, string>> = {
  egress_denied: 'has an address that the egress rules deny',
  dns_failed: 'has a host name that could not be resolved',
  connect_timeout: 'accepted no connection in time',
  connect_refused: 'refused the connection',
  connect_failed: 'could not be reached',
  tls_failed: 'failed the TLS handshake',
  proxy_failed: 'could not be reached through the proxy',
  reset: 'closed the connection without an answer',
  bad_head: 'sent response headers that are not HTTP',
  timeout_first_event: 'sent no content in time',
  timeout_liveness: 'went silent',
  timeout_progress: 'made no progress',
  timeout_total: 'did not finish within the total timeout',
  error_event: 'reported an error inside its answer',
  truncated: 'ended its answer too early',
  unusable: 'sent an answer that is not usable',
  malformed: 'sent an invalid answer',
  too_large: 'sent an answer that is too large for the gateway',
  no_room: 'answered, but the gateway had no memory left',
  internal_error: 'was asked, but the gateway failed',
};

/** @param cause The gateway's own words about this answer. */
export function failureWords(failure: string, cause: string | undefined): string {
  const [, status] = /^status_(.+)$/.exec(failure) ?? [];
  const fact = status === undefined ? (words[failure] ?? `failed (${failure})`) : `answered HTTP ${status}`;
  return cause === undefined ? fact : `${fact}: ${cause}`;
}

const refusals: Readonly<Partial<Record<ErrorCode, string>>> = {
  invalid_api_key: 'The key is unknown, disabled or expired.',
  model_not_found: 'No such model, or not one for this key.',
  model_not_priced: 'The model has no price, and its policy denies calls without one.',
  model_unavailable: 'The model is out of service.',
  rate_limit_exceeded: 'A limit of the key or of its namespace is used up.',
  insufficient_quota: 'A budget of the key or of its namespace is used up.',
  billing_error: 'A budget of the key or of its namespace is used up.',
  overloaded: 'The gateway had no capacity left.',
  upstream_unavailable: 'No provider of the model was available.',
  upstream_auth_failed: 'The providers of the model reject the credentials of the platform.',
  invalid_parameter: 'The request is not valid.',
  unsupported_parameter: 'The request has a parameter that the model does not take.',
  request_too_large: 'The request is too large.',
  request_timeout: 'The request did not arrive in time.',
  not_ready: 'The gateway was not ready.',
  server_shutting_down: 'The gateway was shutting down.',
  limits_unavailable: 'Shared limits could not be read.',
};

/** Why the gateway refused a request itself, where it said no more than a code. */
export function refusalWords(code: string): string {
  const words: Readonly<Record<string, string>> = refusals;
  return words[code] ?? `The gateway refused it: ${code}.`;
}
