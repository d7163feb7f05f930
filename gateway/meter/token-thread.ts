// How many tokens would OpenAI's models make of a text? Answered in a worker thread: the vocabulary takes a tenth of a second and 80 MB
// to load, and a hostile text takes long to count.

import { parentPort } from 'node:worker_threads';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { countAnswer, countRequest, type RequestSample } from './sample-tokens.ts';

export interface CountOrder {
  readonly id: number;
  readonly request: RequestSample;
  /** The beginning of the answer's text, if there is a text. */
  readonly answer: string | undefined;
  readonly answerLength: number;
}

export interface CountAnswer {
  readonly id: number;
  readonly input: number;
  readonly output: number | undefined;
}

/** A run without a blank takes time by the square of its length; a cut costs a token at most. */
const pieceLength = 2_048;

/** Control tokens in a message are plain text here: a user typed them. */
const asText = { disallowedSpecial: new Set<string>() };

function countText(text: string): number {
  let tokens = 0;
  for (let from = 0; from < text.length; from += pieceLength)
    tokens += countTokens(text.slice(from, from + pieceLength), asText);
  return tokens;
}

parentPort?.on('message', ({ id, request, answer, answerLength }: CountOrder) => {
  const counted: CountAnswer = {
    id,
    input: countRequest(request, countText),
    output: answer === undefined ? undefined : countAnswer(answer, answerLength, countText),
  };
  parentPort?.postMessage(counted);
});
