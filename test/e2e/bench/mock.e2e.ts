// The mock upstream against a strict HTTP client and the official SDK's stream reader.

import { Readable } from 'node:stream';
import OpenAI from 'openai';
import { request } from 'undici';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readUpstreamStats } from '../../../tools/bench/upstream.ts';
import { type Bench, startBench } from './support.ts';

let bench: Bench;
beforeAll(async () => {
  bench = await startBench();
});
afterAll(() => bench.close());

function origin(): string {
  return `http://127.0.0.1:${bench.upstream.port}`;
}

async function post(body: string | Readable, path = '/v1/chat/completions') {
  return await request(`${origin()}${path}`, { method: 'POST', body });
}

describe('the mock upstream', () => {
  test('answers a unary model with 1053 bytes of valid JSON that contain the length of the body', async () => {
    const body = JSON.stringify({ model: 'unary', messages: [] });
    const answer = await post(body);
    const text = await answer.body.text();
    expect(answer.statusCode).toBe(200);
    expect(text).toHaveLength(1053);
    expect(JSON.parse(text)).toMatchObject({
      object: 'chat.completion',
      choices: [{ finish_reason: 'stop', message: { role: 'assistant' } }],
      usage: { prompt_tokens: body.length },
    });
  });

  test.each([1024, 300_000, 3_000_000])('reads a body of %d bytes, by length and in chunks', async (size) => {
    const start = '{"model" : "unary","messages":[{"role":"user","content":"';
    const body = `${start}${'x'.repeat(size - start.length - 4)}"}]}`;
    const chunks = Array.from({ length: Math.ceil(size / 1000) }, (_, i) =>
      Buffer.from(body.slice(i * 1000, (i + 1) * 1000)),
    );
    for (const sent of [body, Readable.from(chunks)]) {
      const answer: unknown = await (await post(sent)).body.json();
      expect(answer).toMatchObject({ usage: { prompt_tokens: size } });
    }
  });

  test.each(['burst-5', 'paced-5x2'])('streams %s as the official SDK expects it', async (model) => {
    const client = new OpenAI({ baseURL: `${origin()}/v1`, apiKey: 'none', maxRetries: 0 });
    const stream = await client.chat.completions.create({ model, messages: [], stream: true });
    const chunks = await Array.fromAsync(stream);
    expect(chunks.map((chunk) => chunk.choices[0]?.finish_reason)).toEqual([
      null,
      null,
      null,
      null,
      'stop',
      undefined,
    ]);
    expect(chunks[0]?.choices[0]?.delta.role).toBe('assistant');
    expect(chunks.at(-1)?.usage?.completion_tokens).toBe(5);
  });

  test('sends events of 285 bytes, each with its send time, in order, and [DONE]', async () => {
    const text = await (await post('{"model":"burst-20"}')).body.text();
    const events = text.split('\n\n').slice(0, 20);
    expect(events.map((event) => event.length + 2)).toEqual(Array.from({ length: 20 }, () => 285));
    const stamps = events.map((event) => BigInt(/@(\d{19})@/.exec(event)?.[1] ?? 0));
    expect(stamps.every((stamp, i) => stamp > (stamps[i - 1] ?? 0n))).toBe(true);
    expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
  });

  test.each([
    ['{"model":"unary"', 400],
    ['[]', 400],
    ['{"model":"gpt-5"}', 404],
    ['{"model":"penstock/unary"}', 404],
    ['{}', 404],
  ])('refuses %s with %d', async (body, status) => {
    const answer = await post(body);
    await answer.body.dump();
    expect(answer.statusCode).toBe(status);
  });

  test('sends nothing to a waiting stream and forgets it when the caller disconnects', async () => {
    const controller = new AbortController();
    const waiting = request(`${origin()}/v1/chat/completions`, {
      method: 'POST',
      body: '{"model":"wait"}',
      signal: controller.signal,
    });
    waiting.catch(() => undefined);
    await expect.poll(async () => (await readUpstreamStats(bench.upstream.port)).openStreams).toBe(1);
    controller.abort();
    await expect(waiting).rejects.toThrow();
    await expect.poll(async () => (await readUpstreamStats(bench.upstream.port)).openStreams).toBe(0);
  });
});
