// A chat completion, plain or streamed, in our own form.

import { asRecord, type JsonRecord } from '../../json/record.ts';
import type { StreamDecoder } from '../dialect.ts';
import {
  type ChoiceText,
  type DecodedAnswer,
  decodeOpenAiAnswer,
  decodeOpenAiStream,
} from '../openai-answers.ts';

export function decodeChatAnswer(body: Buffer): DecodedAnswer {
  return decodeOpenAiAnswer(body, (choice) => readMessage(asRecord(choice.message)));
}

export function decodeChatStream(choices: number): StreamDecoder {
  return decodeOpenAiStream(choices, (choice) => readMessage(asRecord(choice.delta)));
}

/** A message and a delta have the same members. */
function readMessage(message: JsonRecord | undefined): ChoiceText {
  return [
    ['thinking', textOf(message?.reasoning_content ?? message?.reasoning)],
    ['text', textOf(message?.content)],
    ['refusal', textOf(message?.refusal)],
  ];
}

/** Some providers answer with a list of parts, as requests have them. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content
    .map((part) => asRecord(part)?.text)
    .filter((text) => typeof text === 'string')
    .join('');
}
