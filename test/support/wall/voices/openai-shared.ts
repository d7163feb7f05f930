// What do the OpenAI dialects have in common? Errors, usage and the end marker.

import type { ErrorEventShape, ProviderError, WallUsage } from '../behaviour.ts';
import type { RequestJson, VoiceEvent } from '../voice.ts';

export function isStreamAsked(request: RequestJson): boolean {
  return request.stream === true;
}

export function isUsageAsked(request: RequestJson): boolean {
  const options = request.stream_options;
  return (
    typeof options === 'object' &&
    options !== null &&
    'include_usage' in options &&
    options.include_usage === true
  );
}

export function encodeUsage(usage: WallUsage): object {
  return {
    prompt_tokens: usage.inputTokens,
    completion_tokens: usage.outputTokens,
    total_tokens: usage.inputTokens + usage.outputTokens,
    prompt_tokens_details: {
      cached_tokens: usage.cachedTokens,
      // Not every provider has the word.
      ...(usage.cacheWriteTokens > 0 && { cache_write_tokens: usage.cacheWriteTokens }),
    },
    completion_tokens_details: { reasoning_tokens: usage.reasoningTokens },
  };
}

export function errorBody(status: number, error: ProviderError): object {
  const fallback = errorByStatus[status] ?? { type: 'server_error', code: 'server_error' };
  return {
    error: {
      message: error.message ?? `The wall answers ${status}`,
      type: error.type ?? fallback.type,
      code: error.code ?? fallback.code,
      param: null,
    },
  };
}

const errorByStatus: Readonly<Record<number, { type: string; code: string }>> = {
  400: { type: 'invalid_request_error', code: 'invalid_value' },
  401: { type: 'invalid_request_error', code: 'invalid_api_key' },
  402: { type: 'insufficient_quota', code: 'insufficient_quota' },
  403: { type: 'permission_error', code: 'permission_denied' },
  404: { type: 'invalid_request_error', code: 'model_not_found' },
  413: { type: 'invalid_request_error', code: 'request_too_large' },
  422: { type: 'invalid_request_error', code: 'invalid_value' },
  429: { type: 'rate_limit_error', code: 'rate_limit_exceeded' },
  503: { type: 'server_error', code: 'overloaded' },
  529: { type: 'overloaded_error', code: 'overloaded' },
};

export function errorEvents(shape: ErrorEventShape | undefined, error: ProviderError): VoiceEvent[] {
  const body = {
    message: error.message ?? 'The wall broke off',
    type: error.type ?? 'server_error',
    code: error.code ?? 'server_error',
  };
  const plain = { segment: 'finish', outputTokens: 0, reportsUsage: false } as const;
  switch (shape) {
    case undefined:
    case 'data':
      return [{ ...plain, data: JSON.stringify({ error: body }) }];
    case 'event':
      return [{ ...plain, event: 'error', data: JSON.stringify({ type: 'error', error: body }) }];
    case 'chunk':
      return [
        {
          ...plain,
          data: JSON.stringify({
            choices: [{ index: 0, delta: { content: '' }, finish_reason: 'error' }],
            error: body,
          }),
        },
      ];
  }
}

export function endMarker(): VoiceEvent {
  return { segment: 'end', data: '[DONE]', outputTokens: 0, reportsUsage: false };
}
