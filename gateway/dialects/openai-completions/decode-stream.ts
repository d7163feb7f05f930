// A streamed text completion in our own form.

import type { StreamDecoder } from '../dialect.ts';
import { decodeOpenAiStream } from '../openai/decode-answers.ts';
import type { CompletionReading } from './decode-answer.ts';
import { readCompletionChoice } from './decode-choice.ts';
import { hasText } from './relay.ts';

export function decodeCompletionStream(reading: CompletionReading): StreamDecoder {
  return decodeOpenAiStream({ ...reading, openChoice: readCompletionChoice, hasContent: hasText });
}
