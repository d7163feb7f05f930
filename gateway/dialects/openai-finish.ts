// Why did an answer end, in the words of chat completions and completions?

import type { FinishReason } from './conversation.ts';

/** Unknown and absent reasons mean a natural end, unless tools were called. */
export function decodeOpenAiFinish(value: unknown, hasToolCalls: boolean): FinishReason {
  switch (value) {
    case 'length':
      return 'length';
    case 'content_filter':
      return 'content-filter';
    case 'tool_calls':
    case 'function_call':
      return 'tool-calls';
    default:
      return hasToolCalls ? 'tool-calls' : 'stop';
  }
}
