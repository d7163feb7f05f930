// How does the wall speak chat completions? (OpenAI API reference: Chat, and Chat streaming.)

import type { StreamSegment } from '../behaviour.ts';
import {
  countWords,
  cutArguments,
  type Said,
  type SaidChoice,
  type Voice,
  type VoiceEvent,
} from '../voice.ts';
import {
  encodeUsage,
  endMarker,
  errorBody,
  errorEvents,
  isStreamAsked,
  isUsageAsked,
} from './openai-shared.ts';

export const openaiChat: Voice = {
  name: 'openai-chat',
  matches: (method, path) => method === 'POST' && path.endsWith('/chat/completions'),
  isStreamAsked,
  isUsageAsked,
  choiceCount: (request) => (typeof request.n === 'number' ? request.n : 1),
  inputTokens: (request) => countWords(request.messages),
  plain: (said) => ({
    id: said.id,
    object: 'chat.completion',
    created: said.created,
    model: said.model,
    choices: said.choices.map(encodeChoice),
    usage: encodeUsage(said.usage),
  }),
  events: (said) => [
    ...said.choices.map((choice, index) => startEvent(said, choice, index)),
    ...interleave(said.choices.map((choice, index) => contentEvents(said, choice, index))),
    ...said.choices.map((choice, index) => chunk(said, 'finish', index, {}, 0, choice.finishReason)),
    ...usageEvents(said),
    endMarker(),
  ],
  contentEvent: (said, text) => chunk(said, 'content', 0, { content: text }, 1),
  errorBody,
  errorEvents,
  endMarker,
};

function encodeChoice(choice: SaidChoice, index: number): object {
  const hasTools = choice.toolCalls.length > 0;
  const text = choice.tokens.join('');
  return {
    index,
    message: {
      role: 'assistant',
      content: hasTools && text === '' ? null : text,
      refusal: null,
      ...(choice.reasoning.length > 0 && { reasoning_content: choice.reasoning.join('') }),
      ...(hasTools && {
        tool_calls: choice.toolCalls.map((call) => ({
          id: call.id,
          type: 'function',
          function: { name: call.name, arguments: call.arguments },
        })),
      }),
    },
    logprobs: null,
    finish_reason: choice.finishReason,
  };
}

function startEvent(said: Said, choice: SaidChoice, index: number): VoiceEvent {
  const content = choice.toolCalls.length > 0 && choice.tokens.length === 0 ? null : '';
  return chunk(said, 'start', index, { role: 'assistant', content, refusal: null }, 0);
}

function contentEvents(said: Said, choice: SaidChoice, index: number): VoiceEvent[] {
  return [
    ...choice.reasoning.map((text) => chunk(said, 'content', index, { reasoning_content: text }, 1)),
    ...choice.tokens.map((text) => chunk(said, 'content', index, { content: text }, 1)),
    ...choice.toolCalls.flatMap((call, at) => [
      toolChunk(said, index, {
        index: at,
        id: call.id,
        type: 'function',
        function: { name: call.name, arguments: '' },
      }),
      ...cutArguments(call.arguments).map((piece) =>
        toolChunk(said, index, { index: at, function: { arguments: piece } }),
      ),
    ]),
  ];
}

function toolChunk(said: Said, index: number, call: object): VoiceEvent {
  return chunk(said, 'content', index, { tool_calls: [call] }, 1);
}

function chunk(
  said: Said,
  segment: StreamSegment,
  index: number,
  delta: object,
  outputTokens: number,
  finishReason: string | null = null,
): VoiceEvent {
  return {
    segment,
    outputTokens,
    reportsUsage: false,
    data: JSON.stringify({
      ...chunkHead(said),
      choices: [{ index, delta, logprobs: null, finish_reason: finishReason }],
      // OpenAI writes an explicit null in every other chunk once usage has been asked for.
      ...(said.usageChunk !== 'never' && { usage: null }),
    }),
  };
}

function usageEvents(said: Said): VoiceEvent[] {
  const event: VoiceEvent = {
    segment: 'usage',
    outputTokens: 0,
    reportsUsage: true,
    data: JSON.stringify({ ...chunkHead(said), choices: [], usage: encodeUsage(said.usage) }),
  };
  return { never: [], once: [event], twice: [event, event] }[said.usageChunk];
}

function chunkHead(said: Said): object {
  return { id: said.id, object: 'chat.completion.chunk', created: said.created, model: said.model };
}

/** One event of each choice in turn, as providers do for `n` above 1. */
function interleave(lists: readonly VoiceEvent[][]): VoiceEvent[] {
  const rounds = Math.max(0, ...lists.map((list) => list.length));
  return Array.from({ length: rounds }, (_, round) => lists.flatMap((list) => list[round] ?? [])).flat();
}
