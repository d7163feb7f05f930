// When has a choice ended, of providers that write finish reasons as they like?

import { expect, test } from 'vitest';
import { ChoiceEnds } from '../../../../gateway/dialects/openai/choice-ends.ts';

type Chunk = 'text' | 'reason' | 'both';

function endsOf(asked: number, chunks: readonly (readonly [number, Chunk])[]): ChoiceEnds {
  const ends = new ChoiceEnds(asked);
  let isEarly = true;
  for (const [index, chunk] of chunks) {
    ends.see(index, { hasContent: chunk !== 'reason', hasReason: chunk !== 'text', isEarly });
    if (chunk !== 'reason') isEarly = false;
  }
  return ends;
}

test.each<[string, readonly Chunk[], { sure: boolean; over: boolean; overTorn: boolean }]>([
  ['without a reason', ['text', 'text'], { sure: false, over: false, overTorn: false }],
  ['with a reason alone', ['text', 'reason'], { sure: true, over: true, overTorn: true }],
  ['with a reason in the chunk that begins it', ['reason'], { sure: false, over: true, overTorn: false }],
  ['with two reasons and no text', ['reason', 'reason'], { sure: true, over: true, overTorn: true }],
  ['with a reason on its last text', ['text', 'both'], { sure: false, over: true, overTorn: false }],
  ['with a reason on every text', ['both', 'both'], { sure: false, over: false, overTorn: false }],
  [
    'with a reason on every text and one alone',
    ['both', 'both', 'reason'],
    { sure: false, over: true, overTorn: false },
  ],
  ['with text after a reason alone', ['reason', 'text'], { sure: false, over: false, overTorn: false }],
])('one %s', (_, chunks, wanted) => {
  const ends = endsOf(
    1,
    chunks.map((chunk) => [0, chunk]),
  );
  expect({ sure: ends.areSure, over: ends.areOver(false), overTorn: ends.areOver(true) }).toEqual(wanted);
});

test('all requested choices have to end', () => {
  const one = endsOf(2, [
    [0, 'text'],
    [0, 'reason'],
    [1, 'text'],
  ]);
  expect([one.areSure, one.areOver(false), one.haveReasons, one.hasReason]).toEqual([
    false,
    false,
    false,
    true,
  ]);
  const both = endsOf(2, [
    [0, 'text'],
    [0, 'reason'],
    [1, 'text'],
    [1, 'reason'],
  ]);
  expect([both.areSure, both.areOver(false), both.haveReasons]).toEqual([true, true, true]);
});

test('after the end marker of the stream, a finish reason with text after it is enough', () => {
  expect(
    endsOf(1, [
      [0, 'both'],
      [0, 'text'],
    ]).haveReasons,
  ).toBe(true);
});

test('choices that were not requested are not kept without limit', () => {
  const ends = new ChoiceEnds(1);
  for (let index = 1; index < 100_000; index++)
    ends.see(index, { hasContent: true, hasReason: true, isEarly: false });
  ends.see(100_000, { hasContent: true, hasReason: true, isEarly: false });
  expect([ends.hasEnded(999), ends.hasEnded(100_000)]).toEqual([true, false]);
});
