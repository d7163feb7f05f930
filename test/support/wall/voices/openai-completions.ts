// How does the wall speak legacy completions? (OpenAI API reference: Completions.)

import { countWords, type Said, type Voice, type VoiceEvent } from '../voice.ts';
import {
  encodeUsage,
  endMarker,
  errorBody,
  errorEvents,
  isStreamAsked,
  isUsageAsked,
} from './openai-shared.ts';

export const openaiCompletions: Voice = {
  name: 'openai-completions',
  matches: (method, path) =>
    method === 'POST' && path.endsWith('/completions') && !path.endsWith('/chat/completions'),
  isStreamAsked,
  isUsageAsked,
  choiceCount: (request) =>
    (Array.isArray(request.prompt) ? request.prompt.length : 1) *
    (typeof request.n === 'number' ? request.n : 1),
  inputTokens: (request) => countWords(request.prompt),
  plain: (said) => ({
    ...head(said),
    choices: said.choices.map((choice, index) => ({
      text: choice.tokens.join(''),
      index,
      logprobs: null,
      finish_reason: choice.finishReason,
    })),
    usage: encodeUsage(said.usage),
  }),
  events: (said) => [
    ...said.choices.flatMap((choice, index) => choice.tokens.map((text) => textEvent(said, index, text))),
    ...said.choices.map((choice, index) => finishEvent(said, index, choice.finishReason)),
    ...usageEvents(said),
    endMarker(),
  ],
  contentEvent: (said, text) => textEvent(said, 0, text),
  errorBody,
  errorEvents,
  endMarker,
};

function textEvent(said: Said, index: number, text: string): VoiceEvent {
  return { segment: 'content', outputTokens: 1, reportsUsage: false, data: chunk(said, index, text, null) };
}

function finishEvent(said: Said, index: number, finishReason: string): VoiceEvent {
  return {
    segment: 'finish',
    outputTokens: 0,
    reportsUsage: false,
    data: chunk(said, index, '', finishReason),
  };
}

function chunk(said: Said, index: number, text: string, finishReason: string | null): string {
  return JSON.stringify({
    ...head(said),
    choices: [{ text, index, logprobs: null, finish_reason: finishReason }],
    ...(said.usageChunk !== 'never' && { usage: null }),
  });
}

function usageEvents(said: Said): VoiceEvent[] {
  const event: VoiceEvent = {
    segment: 'usage',
    outputTokens: 0,
    reportsUsage: true,
    data: JSON.stringify({ ...head(said), choices: [], usage: encodeUsage(said.usage) }),
  };
  return { never: [], once: [event], twice: [event, event] }[said.usageChunk];
}

function head(said: Said): object {
  return { id: said.id, object: 'text_completion', created: said.created, model: said.model };
}
