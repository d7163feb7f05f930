// A whole plain text completion in our own form.

import type { DecodedAnswer } from '../dialect.ts';
import { decodeOpenAiAnswer, type OpenAiReading } from '../openai/decode-answers.ts';
import { readCompletionChoice } from './decode-choice.ts';

/** The facts of a request that are needed to read its answer. */
export type CompletionReading = Pick<OpenAiReading, 'choices' | 'names' | 'stops'>;

export function decodeCompletionAnswer(body: Buffer, reading: CompletionReading): DecodedAnswer {
  return decodeOpenAiAnswer(body, { ...reading, openChoice: readCompletionChoice });
}
