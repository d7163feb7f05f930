// How many tokens is a request, or an answer, that nobody has counted?

import { afterEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../../core/clock.ts';
import { countAnswer, countRequest, sampleMax, sampleRequest } from '../../../gateway/meter/sample-tokens.ts';
import { isCountable, TokenCounter } from '../../../gateway/meter/token-counter.ts';
import { makeFakeClock } from '../../support/fake-clock.ts';

const words = (text: string): number => text.split(/\s+/).filter(Boolean).length;

describe('a request', () => {
  const count = (text: string, countText = words, chunkBytes = 10_000) => {
    const body = Buffer.from(text);
    const chunks = Array.from({ length: Math.ceil(body.length / chunkBytes) }, (_, at) =>
      body.subarray(at * chunkBytes, (at + 1) * chunkBytes),
    );
    return countRequest(sampleRequest(chunks, body.length), countText);
  };
  const url = `data:image/png;base64,${'iVBORw0KGgo'.repeat(1_000)}`;

  test('counts the strings of its JSON, names of members too', () => {
    const text = JSON.stringify({ messages: [{ role: 'user', content: 'three "plain" words' }], n: 1 });
    expect(count(text)).toBe(4 + 3 + 1);
  });

  test('is counted without its escapes', () => {
    const seen: string[] = [];
    count('{"a":"\\u00fcber\\nall"}', (text) => seen.push(text));
    expect(seen).toEqual(['a', 'über\nall']);
  });

  test('counts a picture of any size with the price of a picture', () => {
    const text = JSON.stringify({ content: [{ text: 'what is it' }, { url }] });
    for (const chunkBytes of [7, 4_096, 65_536])
      expect(count(text, words, chunkBytes)).toBe(1_000 + 1 + 1 + 3 + 1);
  });

  test('is extrapolated from its beginning', () => {
    const text = JSON.stringify({ a: 'word '.repeat(sampleMax) });
    const tokens = count(text);
    expect(tokens).toBeGreaterThan(sampleMax * 0.99);
    expect(tokens).toBeLessThan(sampleMax * 1.01);
  });

  test.each([
    ['begins with', (picture: string, text: string) => [{ url: picture }, { text }]],
    ['ends with', (picture: string, text: string) => [{ text }, { url: picture }]],
    ['is full of', (picture: string, text: string) => [{ url: picture }, { text }, { url: picture }]],
  ])('that %s megabytes of a picture is not counted larger', (_, contentOf) => {
    const text = 'word '.repeat(2 * sampleMax);
    const content = contentOf(`data:image/png;base64,${'A'.repeat(2_000_000)}`, text);
    const tokens = count(JSON.stringify({ content }), words, 65_536);
    expect(tokens).toBeGreaterThan(2 * sampleMax * 0.99);
    expect(tokens).toBeLessThan(2 * sampleMax * 1.01 + 2_000);
  });

  test('with long words without a blank is counted as words', () => {
    expect(count(JSON.stringify({ content: '水'.repeat(9_000) }), (text) => text.length)).toBe(7 + 9_000);
    expect(count(JSON.stringify({ content: 'A'.repeat(9_000) }), (text) => text.length)).toBe(7 + 9_000);
  });

  test.each(['', '{', '{"', '{"a":"b\\', '"'.repeat(99)])('cut as %j is no trouble', (text) => {
    const sample = { text: Buffer.from(text), textBytes: 1_000_000, media: 0 };
    expect(countRequest(sample, words)).toBeGreaterThanOrEqual(0);
  });
});

test('an answer is extrapolated from its beginning', () => {
  expect(countAnswer('one two ', 16, words)).toBe(4);
  expect(countAnswer('', 0, words)).toBe(0);
});

test.each([
  ['gpt-4o-mini', true],
  ['openai/gpt-5', true],
  ['o3-mini', true],
  ['o1', true],
  ['chatgpt-4o-latest', true],
  ['claude-sonnet-4-5', false],
  ['llama-3', false],
  ['opus', false],
  ['nvidia/o-gpt', false],
])('%s can be counted offline: %s', (model, wanted) => {
  expect(isCountable(model)).toBe(wanted);
});

describe('the thread of the tokenizer', () => {
  const counters: TokenCounter[] = [];
  afterEach(() => {
    for (const counter of counters.splice(0)) counter.end();
  });
  const counter = (clock = systemClock): TokenCounter => {
    const made = new TokenCounter(clock);
    counters.push(made);
    return made;
  };
  const chat = (content: string, answer?: string) => {
    const request = Buffer.from(JSON.stringify({ messages: [{ role: 'user', content }] }));
    // In pieces, as it arrives.
    const chunks = [request.subarray(0, 7), request.subarray(7)];
    return { request: chunks, requestBytes: request.length, answer };
  };

  test('counts as the models do', async () => {
    const clock = { ...makeFakeClock(), wallMs: () => 0 };
    const counted = await counter(clock).count(chat('水は水門を通って流れる。', 'hello world'));
    // Four names and words of the format, and ten tokens.
    expect(counted).toEqual({ input: 14, output: 2 });
  });

  test('reads control tokens as text, and long nonsense as it is', async () => {
    const clock = { ...makeFakeClock(), wallMs: () => 0 };
    const one = counter(clock);
    expect((await one.count(chat('a<|endoftext|>b')))?.input).toBe(4 + 9);
    const nonsense = await one.count(chat(`${'äb'.repeat(sampleMax)} `));
    expect(nonsense?.input).toBeGreaterThan(10_000);
  });

  test('that does not answer in time is stopped; the next request starts another', async () => {
    const clock = makeFakeClock();
    const one = counter({ ...clock, wallMs: () => 0 });
    const late = one.count(chat('hello'));
    clock.advance(2_000);
    expect(await late).toBeUndefined();
    expect(await one.count(chat('hello'))).toEqual({ input: 5 });
    await one.settled();
  });

  test('ends after five minutes without a request', async () => {
    const clock = makeFakeClock();
    const one = counter({ ...clock, wallMs: () => 0 });
    await one.count(chat('hello'));
    expect(clock.pending()).toEqual([300_000]);
    clock.advance(300_000);
    expect(clock.pending()).toEqual([]);
    expect(await one.count(chat('hello'))).toEqual({ input: 5 });
  });

  test('gets a limited number of requests at a time, and the others are estimated', async () => {
    const one = counter({ ...makeFakeClock(), wallMs: () => 0 });
    const all = await Promise.all(Array.from({ length: 70 }, () => one.count(chat('hello'))));
    expect(all.filter((counted) => counted === undefined)).toHaveLength(6);
  });
});
