// How does the wall list its models? (OpenAI API reference: List models.) Health probes call this; it never streams.

import type { Voice } from '../voice.ts';
import { endMarker, errorBody, errorEvents } from './openai-shared.ts';

export function openaiModels(ids: readonly string[]): Voice {
  return {
    name: 'openai-models',
    matches: (method, path) => method === 'GET' && path.endsWith('/models'),
    isStreamAsked: () => false,
    isUsageAsked: () => false,
    choiceCount: () => 0,
    inputTokens: () => 0,
    plain: (said) => ({
      object: 'list',
      data: ids.map((id) => ({ id, object: 'model', created: said.created, owned_by: 'wall' })),
    }),
    events: () => [],
    contentEvent: (_said, text) => ({
      segment: 'content',
      data: text,
      outputTokens: 0,
      reportsUsage: false,
    }),
    errorBody,
    errorEvents,
    endMarker,
  };
}
