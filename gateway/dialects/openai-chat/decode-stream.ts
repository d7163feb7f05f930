// A streamed chat completion in our own form.

import type { StreamDecoder } from '../dialect.ts';
import { decodeOpenAiStream } from '../openai/decode-answers.ts';
import type { ChatReading } from './decode-answer.ts';
import { readChatChoice } from './decode-choice.ts';
import { hasChatContent } from './relay.ts';

export function decodeChatStream({ origin, ...asked }: ChatReading): StreamDecoder {
  const reading = { origin, isWhole: false };
  return decodeOpenAiStream({
    ...asked,
    openChoice: (writer) => readChatChoice(writer, reading),
    hasContent: hasChatContent,
  });
}
