// A whole plain chat completion in our own form.

import type { DecodedAnswer } from '../dialect.ts';
import { decodeOpenAiAnswer } from '../openai/decode-answers.ts';
import type { ToolNames } from '../tools/tool-names.ts';
import { readChatChoice } from './decode-choice.ts';

/** What has to be known of the request to read its answer. */
export interface ChatReading {
  readonly choices: number;
  readonly names: ToolNames;
  /** Marks what the provider wants back. */
  readonly origin: string;
}

export function decodeChatAnswer(body: Buffer, { choices, names, origin }: ChatReading): DecodedAnswer {
  const reading = { origin, isWhole: true };
  return decodeOpenAiAnswer(body, {
    choices,
    names,
    openChoice: (writer) => readChatChoice(writer, reading),
  });
}
