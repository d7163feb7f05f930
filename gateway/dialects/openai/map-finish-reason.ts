// Why did an answer end, in the words of chat completions and completions?

import type { JsonRecord } from '../../json/record.ts';
import type { FinishReason } from '../conversation.ts';

/** Whether a choice has ended; some servers write nothing, or the word for it, where others have null. */
export function isFinishReason(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value !== 'null';
}

/** Unknown and absent reasons mean a natural end, unless tools were called; those that mean failure do not come so far. */
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

/**
 * The stop sequence that ended a choice, where the server names it: `stop_reason` at vLLM, `matched_stop` at SGLang (both sources
 * read 2026-11). OpenAI says no more than `stop`. Either may be the number of a token, and others use these names for other words.
 */
export function readStopSequence(
  { stop_reason: reason, matched_stop: matched }: JsonRecord,
  stops: readonly string[],
): string | undefined {
  return stops.find((stop) => stop === reason || stop === matched);
}

/** In the words of chat completions. */
export function encodeChatFinish(finish: FinishReason): string {
  switch (finish) {
    case 'length':
    case 'context-full':
      return 'length';
    case 'content-filter':
      return 'content_filter';
    case 'tool-calls':
      return 'tool_calls';
    case 'stop':
    case 'stop-sequence':
    case 'pause':
      return 'stop';
  }
}

/** In the words of completions, which know neither tools nor refusals. */
export function encodeCompletionFinish(finish: FinishReason, hasRefusal: boolean): string {
  if (finish === 'tool-calls') return 'stop';
  return encodeChatFinish(finish === 'stop' && hasRefusal ? 'content-filter' : finish);
}
