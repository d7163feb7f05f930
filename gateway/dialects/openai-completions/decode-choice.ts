// What does one choice of a text completion hold? Its text, and how probable each token of it was.

import { asRecord, type JsonRecord } from '../../json/record.ts';
import type { PartWriter } from '../answer/part-writer.ts';
import type { ChoiceReader } from '../openai/decode-answers.ts';

export function readCompletionChoice(writer: PartWriter): ChoiceReader {
  return {
    read({ text, logprobs }) {
      if (typeof text === 'string') writer.text('text', text, decodeLogprobs(asRecord(logprobs)));
    },
    end() {},
  };
}

/** Parallel lists here, one entry a token in our own form. */
function decodeLogprobs(logprobs: JsonRecord | undefined): readonly unknown[] | undefined {
  const tokens = listOf(logprobs?.tokens);
  if (tokens.length === 0) return undefined;
  const probabilities = listOf(logprobs?.token_logprobs);
  const alternatives = listOf(logprobs?.top_logprobs);
  return tokens.map((token, at) => ({
    ...entryOf(typeof token === 'string' ? token : '', probabilities[at]),
    top_logprobs: Object.entries(asRecord(alternatives[at]) ?? {}).map(([other, value]) =>
      entryOf(other, value),
    ),
  }));
}

/** What OpenAI writes where a token is too improbable to be counted. */
const leastLogprob = -9999;

function entryOf(token: string, logprob: unknown): Record<string, unknown> {
  return { token, logprob: typeof logprob === 'number' ? logprob : leastLogprob, bytes: null };
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
