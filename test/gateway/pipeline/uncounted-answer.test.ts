// How much has a stream said, of which only the beginning is at hand?

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { sampledText } from '../../../gateway/dialects/answer/sample-text.ts';
import { uncountedAnswer } from '../../../gateway/pipeline/uncounted-answer.ts';

const stream = (...events: readonly object[]) =>
  Buffer.from(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''));
const chunk = (delta: object) => ({ model: 'content', choices: [{ index: 0, delta }] });

describe('the text in events', () => {
  test.each([
    ['chat', chunk({ role: 'assistant', content: 'one' })],
    ['chat, in parts', chunk({ content: [{ type: 'text', text: 'one' }] })],
    ['reasoning, reported under two names', chunk({ reasoning: 'one', reasoning_content: 'one' })],
    ['a call of a tool', chunk({ tool_calls: [{ id: 'x', function: { arguments: 'one' } }] })],
    ['completions', { choices: [{ text: 'one', logprobs: { tokens: ['one'], text_offset: [0] } }] }],
    ['messages', { type: 'content_block_delta', delta: { type: 'text_delta', text: 'one' } }],
    ['thinking of messages', { type: 'content_block_delta', delta: { thinking: 'one' } }],
    ['input of a tool of messages', { type: 'content_block_delta', delta: { partial_json: 'one' } }],
    ['responses', { type: 'response.output_text.delta', delta: 'one', obfuscation: 'xxxx', logprobs: [] }],
  ])('of %s', (_, event) => {
    expect(sampledText(stream(event))).toEqual({ text: 'one', events: 1 });
  });

  test.each([
    ['repeated at the end of its part', { type: 'response.output_text.done', text: 'one' }],
    ['of the request', { type: 'response.created', response: { instructions: 'one', content: 'one' } }],
    ['of a signature', { type: 'content_block_delta', delta: { type: 'signature_delta', signature: 'one' } }],
    ['of the counts', { choices: [], usage: { content: 'one' } }],
    ['that is probable', { choices: [{ delta: {}, logprobs: { content: [{ token: 'one' }] } }] }],
  ])('is not what is %s', (_, event) => {
    expect(sampledText(stream(event))).toEqual({ text: '', events: 0 });
  });

  test('is that of complete events, or of a truncated one if there is no other', () => {
    const bytes = stream(chunk({ content: 'one ' }), chunk({ content: 'two and more' }));
    expect(sampledText(bytes.subarray(3, -6))).toEqual({ text: 'two and more', events: 1 });
    expect(sampledText(bytes.subarray(0, -12))).toEqual({ text: 'one ', events: 1 });
    const [begun] = bytes.toString().split('one');
    expect(sampledText(bytes.subarray(0, (begun?.length ?? 0) + 2))).toEqual({ text: 'on', events: 1 });
    const created = stream({ type: 'response.created', response: { text: 'of the request' } });
    expect(sampledText(created.subarray(0, -20))).toEqual({ text: '', events: 0 });
  });

  test('is found or not, wherever a stream is cut, and never throws', () => {
    const bytes = stream(chunk({ content: 'ü one ' }), { type: 'x.delta', delta: 'two' });
    const anything = fc.oneof(fc.uint8Array({ maxLength: 400 }), fc.string().map(Buffer.from));
    const cut = fc.tuple(fc.nat({ max: bytes.length }), fc.nat({ max: bytes.length }));
    fc.assert(
      fc.property(anything, cut, (other, [a, b]) => {
        sampledText(other);
        expect(sampledText(bytes.subarray(Math.min(a, b), Math.max(a, b))).events).toBeLessThanOrEqual(2);
      }),
    );
  });
});

describe('an answer without counts', () => {
  const sentence = 'The gate opens and the water runs down to the turbine. ';
  const of = (contents: readonly string[], outputEstimate = contents.length) =>
    uncountedAnswer({
      sample: stream(...contents.map((content) => chunk({ content }))),
      outputEstimate,
    });

  test('with events of about a token each has as many tokens as events', () => {
    expect(of(['The ', 'gate ', 'opens '], 40).tokens).toBe(40);
  });

  test('in sentences is extrapolated from its beginning', () => {
    expect(of([sentence, sentence], 20)).toEqual({
      tokens: 280,
      text: sentence + sentence,
      length: sentence.length * 20,
    });
  });

  test('of one event longer than the sample has at least the tokens of the sample', () => {
    const sample = stream(chunk({ content: sentence.repeat(200) })).subarray(0, 8 * 1024);
    expect(uncountedAnswer({ sample, outputEstimate: 1 }).tokens).toBeGreaterThan(1_900);
  });

  test('that is fully known, or not at all, keeps its estimate', () => {
    expect(uncountedAnswer({ uncounted: 'all of it', outputEstimate: 3 })).toEqual({
      tokens: 3,
      text: 'all of it',
      length: 9,
    });
    const nothing = { tokens: 5, text: undefined, length: undefined };
    expect(uncountedAnswer({ outputEstimate: 5 })).toEqual(nothing);
    expect(uncountedAnswer({ outputEstimate: 5, sample: Buffer.from(': ping\n\n') })).toEqual(nothing);
  });
});
