// What did an upstream do where an attempt failed? In words that follow its name: "openai answered HTTP 500".

import type { ErrorCode } from '../../core/catalog/error-codes.ts';
import { UPSTREAM_FAILURES } from '../../core/catalog/upstream-failures.ts';

/** @param cause The gateway's own words about this answer. */
export function failureWords(failure: string, cause: string | undefined): string {
  const [, status] = /^status_(.+)$/.exec(failure) ?? [];
  const fact =
    status === undefined
      ? (UPSTREAM_FAILURES[failure]?.did ?? `failed (${failure})`)
      : `answered HTTP ${status}`;
  return cause === undefined ? fact : `${fact}: ${cause}`;
}

const refusals: Readonly<Partial<Record<ErrorCode, string>>> = {
  invalid_api_key: 'The key is unknown, disabled or expired.',
  model_not_found: 'The model does not exist, or this key may not use it.',
  model_not_priced: 'The model has no price, and its policy denies calls without one.',
  model_unavailable: 'The model is out of service.',
  rate_limit_exceeded: 'A limit of the key or of its namespace is used up.',
  insufficient_quota: 'A budget of the key or of its namespace is used up.',
  billing_error: 'A budget of the key or of its namespace is used up.',
  overloaded: 'The gateway had no capacity left.',
  upstream_unavailable: 'No provider of the model was available.',
  upstream_auth_failed: 'The providers of the model reject the credentials of the platform.',
  invalid_parameter: 'The request is not valid.',
  unsupported_parameter: 'The model does not support a parameter of the request.',
  request_too_large: 'The request is too large.',
  request_timeout: 'The request did not arrive in time.',
  not_ready: 'The gateway was not ready.',
  server_shutting_down: 'The gateway was shutting down.',
  limits_unavailable: 'Shared limits could not be read.',
  not_found: 'The gateway has no such path.',
  method_not_allowed: 'The path does not allow this method.',
  unsupported_media_type: 'The body is not JSON, or has an unknown encoding.',
  upgrade_not_supported: 'The request asked for another protocol.',
  headers_too_large: 'The headers are too large.',
  context_length_exceeded: 'The prompt is too long for every target of the model.',
  internal_error: 'The gateway had a fault of its own; its log has the request id.',
};

/** Why the gateway refused a request itself, where it said no more than a code. */
export function refusalWords(code: string): string {
  const words: Readonly<Record<string, string>> = refusals;
  return words[code] ?? `The gateway refused it: ${code}.`;
}
