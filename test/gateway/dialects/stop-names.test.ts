// Which stop sequence ended an answer? A messages client reads its name; OpenAI-shaped servers name it in words of their own, or not.

import { describe, expect, test } from 'vitest';
import { rebuildAnswer } from '../../support/rebuild-answer.ts';
import { translateThrough } from '../../support/translate-through.ts';
import { recordOf } from '../endpoints/ask.ts';
import { delta, done, frame, piece } from './support/openai-streams.ts';

const [C, T, M] = ['openai-chat', 'openai-completions', 'anthropic-messages'] as const;

type Upstream = typeof C | typeof T;

const request = (stop_sequences: readonly string[]) =>
  Buffer.from(
    JSON.stringify({
      model: 'm',
      max_tokens: 100,
      messages: [{ role: 'user', content: 'hi' }],
      stop_sequences,
      stream: true,
    }),
  );

const choice = {
  [C]: { index: 0, message: { role: 'assistant', content: 'I am the ' }, finish_reason: 'stop' },
  [T]: { index: 0, text: 'I am the ', finish_reason: 'stop' },
};
const last = { [C]: delta({}, 'stop'), [T]: piece('', 'stop') };
const first = { [C]: delta({ content: 'I am the ' }), [T]: piece('I am the ') };

function endOf(answer: unknown): unknown[] {
  const { stop_reason: reason, stop_sequence: stop } = recordOf(answer);
  return [reason, stop ?? null];
}

/** How a plain answer and a stream end whose last choice has these members too. */
function ends(upstream: Upstream, stops: readonly string[], members: object): unknown[][] {
  const through = translateThrough(M, upstream, request(stops));
  const plain = through.plain(() =>
    Buffer.from(JSON.stringify({ id: 'a', model: 'm', choices: [{ ...choice[upstream], ...members }] })),
  );
  const { choices, ...rest } = last[upstream];
  const end = { ...rest, choices: Array.isArray(choices) ? [{ ...choices[0], ...members }] : [] };
  const streamed = through.stream(() => [Buffer.from(frame(first[upstream]) + frame(end) + done)]);
  if (plain.type !== 'answered' || streamed.type !== 'answered') throw new Error('not answered');
  return [endOf(JSON.parse(plain.body.toString())), endOf(rebuildAnswer(M, streamed.text))];
}

describe.each([C, T])('an answer of %s that ended with stop', (upstream) => {
  test.each<[string, readonly string[], object, readonly unknown[]]>([
    [
      'names the stop sequence as vLLM does',
      ['simulator'],
      { stop_reason: 'simulator' },
      ['stop_sequence', 'simulator'],
    ],
    ['names one of several', ['a', 'b'], { stop_reason: 'b' }, ['stop_sequence', 'b']],
    ['names it as SGLang does', ['a', 'b'], { matched_stop: 'a' }, ['stop_sequence', 'a']],
    ['names none', ['a'], { stop_reason: null }, ['end_turn', null]],
    ['says nothing', ['a'], {}, ['end_turn', null]],
    ['names a token by its number', ['2'], { stop_reason: 2, matched_stop: 2 }, ['end_turn', null]],
    ['has another word in that place', ['a'], { stop_reason: 'eos' }, ['end_turn', null]],
    [
      'names it though it was cut for its length',
      ['a'],
      { stop_reason: 'a', finish_reason: 'length' },
      ['max_tokens', null],
    ],
  ])('and %s', (_, stops, members, end) => {
    expect(ends(upstream, stops, members)).toEqual([end, end]);
  });
});

test('a stop sequence of the gateway itself is reported as end_turn', () => {
  expect(ends(T, ['a'], { stop_reason: '\nuser:' })).toEqual([
    ['end_turn', null],
    ['end_turn', null],
  ]);
});
