// A whole plain chat completion in our own form.

import type { DecodedAnswer } from '../dialect.ts';
import { decodeOpenAiAnswer, type OpenAiReading } from '../openai/decode-answers.ts';
import { readChatChoice } from './decode-choice.ts';

/** The facts of a request that are needed to read its answer. */
export interface ChatReading extends Pick<OpenAiReading, 'choices' | 'names' | 'stops'> {
  /** Marks what the provider wants back. */
  readonly origin: string;
}

export function decodeChatAnswer(body: Buffer, { origin, ...asked }: ChatReading): DecodedAnswer {
  const reading = { origin, isWhole: true };
  return decodeOpenAiAnswer(body, {
    ...asked,
    openChoice: (writer) => readChatChoice(writer, reading),
  });
}
