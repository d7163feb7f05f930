// Which plain chat completion do the chunks of a stream make up, and can its client use it?

import { asRecord, isRecord, type JsonRecord } from '../../json/record.ts';
import type { AnswerGatherer } from '../dialect.ts';
import { flawOfOpenAi, gatherOpenAi } from '../openai/gather-chunks.ts';

export function gatherChat(): AnswerGatherer {
  return gatherOpenAi({
    object: 'chat.completion',
    encodeChoice({ delta, ...choice }) {
      const { tool_calls: calls, ...message } = asRecord(delta) ?? {};
      return {
        ...choice,
        message: {
          role: 'assistant',
          content: null,
          ...message,
          // Only streams number them.
          ...(Array.isArray(calls) ? { tool_calls: calls.filter(isRecord).map(withoutIndex) } : {}),
        },
        logprobs: choice.logprobs ?? null,
        finish_reason: choice.finish_reason ?? null,
      };
    },
  });
}

export function flawOfChat(answer: JsonRecord): string | undefined {
  return flawOfOpenAi(answer, (choice) => {
    const { tool_calls: calls, function_call: call } = asRecord(choice.message) ?? {};
    // Custom tools take any text.
    const functions = (Array.isArray(calls) ? calls : []).map((entry) => asRecord(entry)?.function);
    return [...functions, call].filter(isRecord).map(({ arguments: input }) => input ?? '');
  });
}

function withoutIndex({ index: _, ...call }: JsonRecord): JsonRecord {
  return call;
}
