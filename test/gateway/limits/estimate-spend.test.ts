// How many tokens is a request taken for, before anybody has counted?

import { describe, expect, test } from 'vitest';
import { estimateInputOfBody, estimateSpend } from '../../../gateway/pipeline/estimate-spend.ts';
import { buildTableView } from '../../../gateway/table/view.ts';
import { errorOf, post } from '../endpoints/ask.ts';
import { startRig, tableOf } from '../rig.ts';

function planOf(maxOutputTokens?: number) {
  const view = buildTableView(
    tableOf([{ baseUrl: 'http://127.0.0.1:1/v1' }], maxOutputTokens === undefined ? {} : { maxOutputTokens }),
  );
  const [route] = view.routes;
  if (!route) throw new Error('the table has no route');
  return { route };
}

const small = { bytes: 400, chunks: [Buffer.alloc(400, 'a ')] };

test.each([
  ['the bound that the caller sets, for each choice', { outputTokensMax: 50, choices: 3 }, 1_000, 250, 250],
  ["else the model's", { choices: 1 }, 1_000, 1_100, 100],
  ['else 4,096', { choices: 1 }, undefined, 4_196, 100],
  ['nothing, where the caller wants nothing', { outputTokensMax: 0, choices: 1 }, 1_000, 100, 100],
  [
    'all answers of which the best are given',
    { outputTokensMax: 50, choices: 3, generated: 6 },
    1_000,
    400,
    400,
  ],
])('its input, and %s', (_, facts, ofModel, tokens, tokensMin) => {
  const input = 100;
  expect(estimateSpend(facts, small, planOf(ofModel))).toEqual({
    tokens,
    tokensMin,
    input,
    output: tokens - input,
  });
});

test.each([
  ['the largest default bound of a target', [{ max_tokens: 64_000 }, { max_tokens: 9 }], 64_000],
  ['by any of its names', [{ max_completion_tokens: 5_000 }, { max_output_tokens: 6_000 }], 6_000],
  ['and 4,096 tokens for a target without a default bound', [{ max_tokens: 9 }, {}], 4_096],
])('where the caller sets no bound, %s', (_, parameters, output) => {
  const targets = parameters.map((own) => ({ baseUrl: 'http://127.0.0.1:1/v1', parameters: own }));
  const [route] = buildTableView(tableOf(targets)).routes;
  if (!route) throw new Error('the table has no route');
  expect(estimateSpend({ choices: 1 }, small, { route })).toMatchObject({ output, tokensMin: 100 });
  expect(estimateSpend({ choices: 1, outputTokensMax: 50 }, small, { route })).toMatchObject({ output: 50 });
});

test('without a limit of the caller, the default of the dialect holds for targets without one', () => {
  const estimateAt = (...parameters: Record<string, number>[]) => {
    const targets = parameters.map((own) => ({ baseUrl: 'http://127.0.0.1:1/v1', parameters: own }));
    const [route] = buildTableView(tableOf(targets, { maxOutputTokens: 1_000 })).routes;
    if (!route) throw new Error('the table has no route');
    return estimateSpend({ choices: 2, outputTokensDefault: 16 }, small, { route });
  };
  expect(estimateAt({})).toMatchObject({ output: 32, tokensMin: 100 });
  expect(estimateAt({ max_tokens: 9 }, {})).toMatchObject({ output: 32 });
  expect(estimateAt({ max_tokens: 64_000 }, {})).toMatchObject({ output: 128_000 });
});

describe('unknown input', () => {
  const named = Buffer.from(JSON.stringify({ messages: [{ content: [{ file: { file_id: 'file-1' } }] }] }));
  const pdf = Buffer.from(JSON.stringify({ source: { data: `JVBERi0x${'A'.repeat(1_500_000)}` } }));
  const bodyOf = (chunk: Buffer) => ({ bytes: chunk.length, chunks: [chunk] });
  const estimate = (facts: object, body: Parameters<typeof estimateSpend>[1], times = 1) =>
    estimateSpend({ choices: 1, ...facts }, body, planOf(), { inputTimes: times });

  test('outside of the body counts as the whole context of the model, once for each call', () => {
    const all = { tokens: Number.POSITIVE_INFINITY, calls: 3 };
    expect(estimate({}, bodyOf(named), 3)).toMatchObject({ inputMost: all });
    expect(estimate({ hasStoredInput: true }, small, 3)).toMatchObject({ input: 300, inputMost: all });
  });

  test('of a document counts as its possible pages, while the document counts as a picture', () => {
    const { input, inputMost } = estimate({}, bodyOf(pdf));
    expect(input).toBeLessThan(5_100);
    expect(inputMost?.tokens).toBeGreaterThan(300_000);
    expect(inputMost?.tokens).toBeLessThan(350_000);
  });

  test('is undefined for other requests', () => {
    expect(estimate({}, small).inputMost).toBeUndefined();
  });
});

describe('a prompt with several answers', () => {
  const prompt = { model: 'm', prompt: 'three plain words', max_tokens: 20 };
  /** In the words of the refusal. */
  async function tokensOf(dialect: 'anthropic-messages' | 'openai-completions', body: object) {
    const table = tableOf([{ baseUrl: 'http://127.0.0.1:1/v1', dialects: [dialect] }]);
    const keys = table.keys.map((key) => ({ ...key, limits: { tokensPerMinute: 1 } }));
    const rig = await startRig({ ...table, keys });
    const refused = await post(rig, '/v1/completions', body).finally(() => rig.close());
    return Number(/about (\d+) tokens/.exec(errorOf(refused).message)?.[1]);
  }
  const inputOf = (body: object) => Math.ceil(JSON.stringify(body).length / 4);

  test('counts its input once for each, if an upstream gives one answer a call', async () => {
    const body = { ...prompt, n: 10 };
    expect(await tokensOf('anthropic-messages', body)).toBe(10 * inputOf(body) + 10 * 20);
    expect(await tokensOf('openai-completions', body)).toBe(inputOf(body) + 10 * 20);
  });

  test('counts all answers that are generated, also those that are not returned', async () => {
    const body = { ...prompt, n: 2, best_of: 5 };
    expect(await tokensOf('openai-completions', body)).toBe(inputOf(body) + 5 * 20);
  });
});

const textOf = (bytes: number): string => 'word '.repeat(bytes / 5);

test('text is about four bytes a token, however long it is', () => {
  const body = Buffer.from(JSON.stringify({ messages: [{ content: textOf(100_000) }] }));
  const tokens = estimateInputOfBody({ bytes: body.length, chunks: [body] });
  expect(tokens).toBe(Math.ceil(body.length / 4));
});

test('pictures count as pictures, in any cut of the body', () => {
  const picture = `data:image/png;base64,${'A'.repeat(400_000)}`;
  const body = Buffer.from(
    JSON.stringify({
      messages: [{ content: [textOf(20_000), { url: picture }, { url: picture }, textOf(20_000)] }],
    }),
  );
  const whole = estimateInputOfBody({ bytes: body.length, chunks: [body] });
  expect(whole).toBeGreaterThan(20_000);
  expect(whole).toBeLessThan(20_100);
  for (const size of [1, 7, 4_096, 65_536]) {
    const chunks = Array.from({ length: Math.ceil(body.length / size) }, (_, at) =>
      body.subarray(at * size, (at + 1) * size),
    );
    expect(estimateInputOfBody({ bytes: body.length, chunks })).toBe(whole);
  }
});

test.each([
  ['Chinese', '水流过闸门，带动涡轮。'],
  ['letters without a blank', 'A'],
])('%s is text, without a blank too', (_, words) => {
  const body = Buffer.from(JSON.stringify({ messages: [{ role: 'user', content: words.repeat(50_000) }] }));
  expect(estimateInputOfBody({ bytes: body.length, chunks: [body] })).toBe(Math.ceil(body.length / 4));
});

test('a picture written with escaped slashes is a picture', () => {
  const picture = `data:image\\/png;base64,${'iVBORw0K\\/Ggo'.repeat(40_000)}`;
  const body = Buffer.from(`{"messages":[{"content":[{"image_url":{"url":"${picture}"}}]}]}`);
  expect(estimateInputOfBody({ bytes: body.length, chunks: [body] })).toBeLessThan(5_100);
});
