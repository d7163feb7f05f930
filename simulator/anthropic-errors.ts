// How does the messages dialect tell of an error? (Anthropic API documentation, "Errors".)

import type { BadRequest } from './checks.ts';
import type { WireError } from './dialect.ts';

export function anthropicBadRequest(problem: BadRequest): WireError {
  const path = problem.path.join('.');
  const message = problem.isWhole || path === '' ? problem.message : `${path}: ${problem.message}`;
  return { status: 400, message, type: 'invalid_request_error', details: problem.details };
}

export function anthropicErrorBody(error: WireError, requestId: string): Record<string, unknown> {
  return {
    type: 'error',
    error: {
      type: error.type ?? anthropicErrorType(error.status),
      message: error.message,
      ...(error.details === undefined ? {} : { details: error.details }),
      // The vendor has no codes; one is only there when a script asks for it.
      ...(error.isScripted && error.code !== undefined ? { code: error.code } : {}),
    },
    request_id: requestId,
  };
}

function anthropicErrorType(status: number): string {
  return types[status] ?? (status < 500 ? 'invalid_request_error' : 'api_error');
}

export function anthropicHeaders(requestId: string): Record<string, string> {
  return {
    'request-id': requestId,
    'anthropic-organization-id': '00000000-0000-4000-8000-00000000051f',
    'anthropic-ratelimit-requests-limit': '10000',
    'anthropic-ratelimit-requests-remaining': '9999',
    'anthropic-ratelimit-requests-reset': '2026-01-01T00:00:00Z',
  };
}

const types: Record<number, string> = {
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  409: 'conflict_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  503: 'overloaded_error',
  504: 'timeout_error',
  529: 'overloaded_error',
};
