// Where does an answer end if the gateway has to mind the stop sequences itself?

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { freshFacts } from '../../../../gateway/dialects/answer/answer-facts.ts';
import { cutAnswer, cutStream } from '../../../../gateway/dialects/answer/cut-stops.ts';
import { PartWriter } from '../../../../gateway/dialects/answer/part-writer.ts';
import type { ModelAnswer, Part } from '../../../../gateway/dialects/conversation.ts';
import type { StreamDecoder } from '../../../../gateway/dialects/dialect.ts';
import type { StreamPart } from '../../../../gateway/dialects/stream-part.ts';
import { nameTools } from '../../../../gateway/dialects/tools/tool-names.ts';
import { runs } from '../../../support/runs.ts';
import { conversationOf } from '../support/make-conversation.ts';

const names = nameTools(conversationOf(), { lengthMax: 64, hasNamespaces: false, hasCustom: false });

/** One push for each piece of text. */
function decoderOf(): StreamDecoder {
  const facts = freshFacts();
  const writer = new PartWriter(facts, names);
  return {
    facts,
    push: (chunk) => {
      writer.text('text', chunk.toString('utf8'));
      return writer.take();
    },
    end: () => {
      writer.end('stop');
      facts.isComplete = true;
      return writer.take();
    },
  };
}

function streamed(pieces: readonly string[], stops: readonly string[]) {
  const cut = cutStream(decoderOf(), stops);
  const parts: StreamPart[] = [];
  for (const piece of pieces) parts.push(...cut.push(Buffer.from(piece)));
  const isCut = cut.facts.isCut === true;
  parts.push(...cut.end());
  const text = parts.map((part) => (part.type === 'part-delta' ? part.text : '')).join('');
  return { text, isCut, end: parts.at(-1), parts };
}

function answerOf(...parts: Part[]): ModelAnswer {
  return { id: 'a', model: 'm', createdAt: 0, choices: [{ index: 0, parts, finish: 'stop' }] };
}

describe('a stream', () => {
  test('ends before the stop sequence, and says which one it was', () => {
    const { text, isCut, end } = streamed(['one E', 'N', 'D two'], ['END', 'two']);
    expect({ text, isCut }).toEqual({ text: 'one ', isCut: true });
    expect(end).toEqual({ type: 'choice-end', choice: 0, finish: 'stop-sequence', stopSequence: 'END' });
  });

  test('sends text that only looked like the start of a stop sequence', () => {
    expect(streamed(['one E', 'NOUGH EN'], ['END']).text).toBe('one ENOUGH EN');
  });

  test('without a stop sequence is all of the text', () => {
    const { text, isCut, end } = streamed(['a', 'b'], ['END']);
    expect({ text, isCut, end }).toMatchObject({ text: 'ab', isCut: false, end: { finish: 'stop' } });
  });

  // A decoder reads all that came in one piece before anybody looks at its text.
  test.each(['push', 'end'] as const)('has no part in a failure that came along behind it (%s)', (step) => {
    const facts = freshFacts();
    const writer = new PartWriter(facts, names);
    const read = (text: string): readonly StreamPart[] => {
      writer.text('text', text);
      facts.fault = { kind: 'truncated' };
      return writer.take();
    };
    const whole = 'one END two';
    const cut = cutStream({ facts, push: () => read(whole), end: () => read(whole) }, ['END']);
    const parts = step === 'push' ? cut.push(Buffer.from(whole)) : cut.end();
    expect(parts.at(-1)).toMatchObject({ type: 'choice-end', finish: 'stop-sequence' });
    expect(cut.facts).toMatchObject({ isCut: true, isComplete: true, fault: undefined });
  });

  test('that fails before the stop sequence is not cut', () => {
    const facts = freshFacts();
    const writer = new PartWriter(facts, names);
    const push = (chunk: Buffer): readonly StreamPart[] => {
      writer.text('text', chunk.toString('utf8'));
      facts.fault = { kind: 'truncated' };
      return writer.take();
    };
    const cut = cutStream({ facts, push, end: () => [] }, ['END']);
    cut.push(Buffer.from('one EN'));
    expect(cut.facts).toMatchObject({ isComplete: false, fault: { kind: 'truncated' } });
  });

  test('however it is cut, says the same as the plain answer', () => {
    const letters = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 30 });
    const stops = fc.array(fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength: 1, maxLength: 4 }), {
      minLength: 1,
      maxLength: 4,
    });
    fc.assert(
      fc.property(fc.array(letters, { minLength: 1, maxLength: 6 }), stops, (pieces, sequences) => {
        const whole = pieces.join('');
        fc.pre(whole !== '');
        const [choice] = cutAnswer(answerOf({ type: 'text', text: whole }), sequences).choices;
        const plain = choice?.parts.map((part) => ('text' in part ? part.text : '')).join('');
        const { text, end } = streamed(pieces, sequences);
        expect(text).toBe(plain);
        expect(end).toMatchObject({ finish: choice?.finish });
      }),
      { seed: 10, numRuns: runs(2000) },
    );
  });
});

describe('a plain answer', () => {
  test('ends before the stop sequence; the rest is removed', () => {
    const call: Part = { type: 'tool-call', id: 'x', name: 'f', kind: 'function', input: '{}' };
    const cut = cutAnswer(answerOf({ type: 'text', text: 'one END two' }, call), ['END']);
    expect(cut.choices[0]).toEqual({
      index: 0,
      parts: [{ type: 'text', text: 'one ' }],
      finish: 'stop-sequence',
      stopSequence: 'END',
    });
  });

  test('that begins with it is empty', () => {
    expect(cutAnswer(answerOf({ type: 'text', text: 'END' }), ['END']).choices[0]?.parts).toEqual([]);
  });

  test('is not cut inside thinking', () => {
    const answer = answerOf({ type: 'thinking', text: 'END' }, { type: 'text', text: 'ok' });
    expect(cutAnswer(answer, ['END'])).toEqual(answer);
  });
});

describe('repetitive text', () => {
  test('costs no more than other text: each character is read once', () => {
    const stops = [`${'a'.repeat(16_000)}b`];
    const { text, isCut } = streamed(
      Array.from({ length: 2_000 }, () => 'a'.repeat(100)),
      stops,
    );
    expect([text.length, isCut]).toEqual([200_000, false]);
    const plain = cutAnswer(answerOf({ type: 'text', text: 'a'.repeat(1_000_000) }), stops);
    expect(plain.choices[0]?.finish).toBe('stop');
  });

  test('ends at the first complete stop sequence', () => {
    expect(streamed(['ab', 'ababac', 'x'], ['ababac']).text).toBe('ab');
    expect(streamed(['aaab'], ['aab', 'b']).end).toMatchObject({ stopSequence: 'aab' });
  });
});

test('log probabilities stay with their tokens', () => {
  const token = (text: string) => ({ token: text, logprob: -1 });
  const logprobs = ['Safe', ' EN', 'D', ' more'].map(token);
  const [choice] = cutAnswer(
    {
      id: 'a',
      model: 'm',
      createdAt: 0,
      choices: [{ index: 0, parts: [{ type: 'text', text: 'Safe END more' }], finish: 'stop', logprobs }],
    },
    ['END'],
  ).choices;
  expect(choice?.logprobs).toEqual([token('Safe'), token(' EN')]);
});
