// Which plain answers are read at all? What they may hold is bounded, as what a request may hold is.

import { expect, test } from 'vitest';
import { answerLimits, readAnswer } from '../../../../gateway/dialects/answer/read-answer.ts';

const read = (text: string): unknown => {
  const reading = readAnswer(Buffer.from(text), () => undefined);
  return reading.ok ? 'read' : reading.fault;
};

const word = '{"token":" word","logprob":-0.0123,"bytes":[32,119,111,114,100]';
const logprob = `${word},"top_logprobs":[${Array(20).fill(`${word}}`).join()}]}`;

test.each([
  ['an image of 20 MiB', `{"image":"${'A'.repeat(20 * 1024 * 1024)}"}`],
  ['twenty log probabilities for each of 3,000 tokens', `{"content":[${Array(3_000).fill(logprob).join()}]}`],
  ['two members of one name, as no request may have them', `{"a":"${'x'.repeat(10_000)}","A":1,"a":2}`],
])('%s is read', (_, text) => {
  expect(read(text)).toBe('read');
});

const nested = (depth: number): string =>
  `{"a":${'['.repeat(depth)}"${'x'.repeat(10_000)}"${']'.repeat(depth)}}`;

test.each([
  ['twenty log probabilities for each of 6,200 tokens', `{"content":[${Array(6_200).fill(logprob).join()}]}`],
  ['a million empty objects', `{"a":[${Array(1_000_000).fill('{}').join()}]}`],
  ['lists in lists', nested(answerLimits.depthMax)],
  ['a quarter of a million lists in lists', `{"a":${'['.repeat(250_000)}`],
])('%s exceed our limits, and count against no breaker', (_, text) => {
  expect(read(text)).toMatchObject({ kind: 'too-large', detail: expect.stringContaining('1000000') });
});

test('text that is not JSON is not an answer, however long it is', () => {
  expect(read(`{"a":"${'x'.repeat(10_000)}`)).toMatchObject({ kind: 'malformed' });
});

test('JSON at the depth limit is read', () => {
  expect(read(nested(answerLimits.depthMax - 2))).toBe('read');
});
