// How do the three OpenAI dialects tell of an error? One body for all; only the stream events differ.
// (OpenAI API reference, "Error codes".)

import type { BadRequest, Path } from './checks.ts';
import type { WireError } from './dialect.ts';

export function openaiBadRequest(problem: BadRequest): WireError {
  const param = pathText(problem.path);
  const message =
    problem.isWhole || param === '' ? problem.message : `Invalid '${param}': ${problem.message}.`;
  return {
    status: 400,
    message,
    type: problem.type ?? 'invalid_request_error',
    code: problem.code,
    param: param === '' ? null : param,
  };
}

export function openaiErrorBody(error: WireError): { error: Record<string, unknown> } {
  const usual = openaiErrorKind(error.status);
  return {
    error: {
      message: error.message,
      type: error.type ?? usual.type,
      param: error.param ?? null,
      code: error.code ?? usual.code,
    },
  };
}

export function openaiErrorKind(status: number): { type: string; code: string } {
  return (
    openaiKinds[status] ?? (status < 500 ? invalidRequest : { type: 'server_error', code: 'server_error' })
  );
}

/** Headers that OpenAI sends with every answer; the numbers speak of the simulator's own account. */
export function openaiHeaders(requestId: string): Record<string, string> {
  return {
    'x-request-id': requestId,
    'openai-organization': 'simulator',
    'openai-processing-ms': '1',
    'x-ratelimit-limit-requests': '10000',
    'x-ratelimit-remaining-requests': '9999',
    'x-ratelimit-reset-requests': '6ms',
  };
}

const invalidRequest = { type: 'invalid_request_error', code: 'invalid_value' };

const openaiKinds: Record<number, { type: string; code: string }> = {
  401: { type: 'invalid_request_error', code: 'invalid_api_key' },
  402: { type: 'insufficient_quota', code: 'billing_hard_limit_reached' },
  403: { type: 'permission_error', code: 'permission_denied' },
  404: { type: 'invalid_request_error', code: 'model_not_found' },
  405: { type: 'invalid_request_error', code: 'method_not_supported' },
  409: { type: 'conflict', code: 'conflict' },
  413: { type: 'invalid_request_error', code: 'request_too_large' },
  415: { type: 'invalid_request_error', code: 'unsupported_media_type' },
  422: { type: 'invalid_request_error', code: 'unprocessable_entity' },
  426: { type: 'invalid_request_error', code: 'upgrade_not_supported' },
  429: { type: 'rate_limit_error', code: 'rate_limit_exceeded' },
  503: { type: 'service_unavailable', code: 'overloaded' },
  504: { type: 'timeout', code: 'timeout' },
  529: { type: 'service_unavailable', code: 'overloaded' },
};

// `messages[0].content`, as OpenAI writes it.
function pathText(path: Path): string {
  let text = '';
  for (const step of path) {
    if (typeof step === 'number') text += `[${step}]`;
    else text += text === '' ? step : `.${step}`;
  }
  return text;
}
