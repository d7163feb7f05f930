// What is written down of answers whose upstream has not counted?

import { describe, expect, test } from 'vitest';
import { until } from '../support/until.ts';
import { ask, askOpen, type Endpoint } from './ask.ts';
import { expectWhole } from './fault-matrix.ts';
import { type House, inHouse } from './house.ts';
import { jsonAnswer } from './json-answer.ts';

async function recordOf(house: House, upstreamModel: string, isStream: boolean) {
  const wall = await house.wallThat({ type: 'answer', usageChunk: 'never', ...(isStream ? {} : noCounts) });
  const rig = await house.rigOf([{ baseUrl: wall.baseUrl, upstreamModel }]);
  expectWhole(await ask(rig, { isStream }), isStream ? 'stream' : 'plain');
  await until(async () => rig.records.length === 1, 2);
  const [record] = rig.records;
  if (!record) throw new Error('there is no record');
  return record;
}

/** Counts that are none. */
const noCounts = { usage: { inputTokens: -1, outputTokens: 1.5, cachedTokens: 0, reasoningTokens: 0 } };

describe('a model of OpenAI', () => {
  test(
    'plain: counted by its own tokenizer, and marked as an estimate',
    inHouse(async (house) => {
      expect(await recordOf(house, 'gpt-4o', false)).toMatchObject({
        isEstimated: true,
        estimatedBy: 'tokenizer',
        // Names, roles and the model are some of the input; the answer is what it is.
        usage: { input: 9, output: 12 },
        costPicodollars: 9 * 1_000_000 + 12 * 2_000_000,
      });
    }),
  );

  test(
    'streamed: by its own tokenizer too, however it was cut into events',
    inHouse(async (house) => {
      expect(await recordOf(house, 'gpt-4o', true)).toMatchObject({
        isEstimated: true,
        estimatedBy: 'tokenizer',
        usage: { output: 12 },
      });
    }),
  );
});

test(
  'a model of another vendor is estimated by length',
  inHouse(async (house) => {
    const record = await recordOf(house, 'llama-3', false);
    expect(record).toMatchObject({ isEstimated: true, estimatedBy: 'characters' });
    // 54 characters.
    expect(record.usage.output).toBe(14);
  }),
);

/** Twelve tokens by the vocabulary of OpenAI's models, thirteen by sizes. */
const sentence = 'The gate opens and the water runs down to the turbine. ';
const dialects = {
  chat: 'openai-chat',
  completions: 'openai-completions',
  messages: 'anthropic-messages',
  responses: 'openai-responses',
} as const satisfies Record<Endpoint, unknown>;
const ways = [
  ...Object.entries(dialects),
  // Through our own form.
  ['messages', 'openai-chat'],
  ['responses', 'anthropic-messages'],
  ['chat', 'openai-responses'],
] as [Endpoint, (typeof dialects)[Endpoint]][];
/** Eight sentences. */
const tokensOf = { 'gpt-4o': 8 * 12, 'llama-3': 8 * 13 } as const;
const near = (tokens: number) => ({ from: tokens * 0.85, to: tokens * 1.2 });

describe.each(ways)('%s at an upstream of %s that does not count', (endpoint, dialect) => {
  const estimateOf = async (
    house: House,
    model: keyof typeof tokensOf,
    isStream: boolean,
    more: object = { tokens: Array.from({ length: 8 }, () => sentence) },
  ) => {
    const says = { type: 'answer', usageChunk: 'never', ...(isStream ? {} : noCounts), ...more } as const;
    const wall = await house.wallThat(says);
    const rig = await house.rigOf([{ baseUrl: wall.baseUrl, dialects: [dialect], upstreamModel: model }]);
    expect((await ask(rig, { endpoint, isStream })).status).toBe(200);
    const [record] = await until(async () => rig.records.length === 1 && rig.records, 2);
    return record;
  };

  test.each([
    ['gpt-4o', true, 'tokenizer'],
    ['gpt-4o', false, 'tokenizer'],
    ['llama-3', true, 'characters'],
    ['llama-3', false, 'characters'],
  ] as const)(
    '%s, streamed %s: whole sentences in an event are counted by their words, and marked as an estimate',
    inHouse(async (house, model: keyof typeof tokensOf, isStream: boolean, estimatedBy: string) => {
      const record = await estimateOf(house, model, isStream);
      expect(record).toMatchObject({ isEstimated: true, estimatedBy, outcome: 'answered' });
      const { from, to } = near(tokensOf[model]);
      expect(record?.usage.output).toBeGreaterThanOrEqual(from);
      expect(record?.usage.output).toBeLessThanOrEqual(to);
      expect(record?.usage.input).toBeGreaterThan(3);
    }),
  );

  test(
    'events of a token each are tokens',
    inHouse(async (house) => {
      expect((await estimateOf(house, 'llama-3', true, {}))?.usage.output).toBe(11);
    }),
  );

  test(
    'an answer whose client disconnected counts as far as it had arrived',
    inHouse(async (house) => {
      const answer = { tokens: Array.from({ length: 8 }, () => sentence), usageChunk: 'always' } as const;
      const wall = await house.wallThat({ type: 'stall', after: { contentEvents: 4 }, answer });
      const rig = await house.rigOf([
        { baseUrl: wall.baseUrl, dialects: [dialect], upstreamModel: 'llama-3' },
      ]);
      const { connection, answer: head } = await askOpen(rig, { endpoint, isStream: true });
      const seen = await head;
      let text = '';
      while (text.split('turbine').length <= 4) text += (await seen.nextEvent())?.data ?? '';
      connection.close();
      const [record] = await until(async () => rig.records.length === 1 && rig.records, 2);
      expect(record).toMatchObject({ outcome: 'cancelled', payer: 'tenant', isEstimated: true });
      const { from, to } = near(4 * 13);
      expect(record?.usage.output).toBeGreaterThanOrEqual(from);
      expect(record?.usage.output).toBeLessThanOrEqual(to);
    }),
  );
});

test.each(['messages', 'chat'] as const)(
  'of a message that counts its beginning alone, whole sentences in an event are counted by their words (%s)',
  async (endpoint) =>
    inHouse(async (house) => {
      const head = { type: 'message', role: 'assistant', model: 'x', content: [] };
      const usage = { input_tokens: 100, output_tokens: 1 };
      const text = { type: 'text_delta', text: sentence };
      const events = [
        { type: 'message_start', message: { id: 'msg_1', ...head, usage } },
        { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
        ...Array.from({ length: 8 }, () => ({ type: 'content_block_delta', index: 0, delta: text })),
        { type: 'content_block_stop', index: 0 },
        { type: 'message_delta', delta: { stop_reason: 'end_turn' } },
        { type: 'message_stop' },
      ];
      const reported = events
        .map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
        .join('');
      const bytes = `HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n${reported}`;
      const wall = await house.wallThat({ type: 'raw', bytes, followedBy: 'fin' });
      const rig = await house.rigOf([{ baseUrl: wall.baseUrl, dialects: ['anthropic-messages'] }]);
      expect((await ask(rig, { endpoint, isStream: true })).status).toBe(200);
      const [record] = await until(async () => rig.records.length === 1 && rig.records, 2);
      expect(record).toMatchObject({ outcome: 'answered', isEstimated: true, usage: { input: 100 } });
      expect(record?.usage.output).toBeGreaterThanOrEqual(near(8 * 13).from);
      expect(record?.usage.output).toBeLessThanOrEqual(near(8 * 13).to);
    })(),
);

test.each(['messages', 'chat'] as const)(
  'a message that its client gives up at the first word is an estimate, though it began with a count of one token (%s)',
  async (endpoint) =>
    inHouse(async (house) => {
      const wall = await house.wallThat({ type: 'stall', after: { contentEvents: 1 } });
      const rig = await house.rigOf([{ baseUrl: wall.baseUrl, dialects: ['anthropic-messages'] }]);
      const { connection, answer } = await askOpen(rig, { endpoint, isStream: true });
      await (await answer).nextEvent();
      connection.close();
      const [record] = await until(async () => rig.records.length === 1 && rig.records, 2);
      expect(record).toMatchObject({ outcome: 'cancelled', isEstimated: true, usage: { output: 1 } });
    })(),
);

describe.each(ways)('%s at an upstream of %s with impossible counts', (endpoint, dialect) => {
  const recordWith = async (house: House, isStream: boolean, more: object) => {
    const wall = await house.wallThat({ type: 'answer', usageChunk: 'always', ...more });
    const target = { baseUrl: wall.baseUrl, dialects: [dialect], upstreamModel: 'llama-3' };
    const rig = await house.rigOf([target]);
    expect((await ask(rig, { endpoint, isStream })).status).toBe(200);
    const [record] = await until(async () => rig.records.length === 1 && rig.records, 2);
    return record;
  };

  test.each(
    [false, true].flatMap((isStream): [boolean, string, object][] => [
      [isStream, 'nothing', { inputTokens: 0, outputTokens: 0 }],
      [isStream, 'no output', { inputTokens: 500, outputTokens: 0 }],
      [isStream, 'no input', { inputTokens: 0, outputTokens: 500 }],
    ]),
  )(
    'streamed %s, %s: has no counts, and its record is an estimate',
    inHouse(async (house, isStream: boolean, _: string, usage: object) => {
      const record = await recordWith(house, isStream, { usage });
      expect(record).toMatchObject({ outcome: 'answered', isEstimated: true, estimatedBy: 'characters' });
      expect(record?.usage.input).toBeGreaterThan(3);
      expect(record?.usage.input).toBeLessThan(100);
      expect(record?.usage.output).toBeGreaterThan(10);
      expect(record?.usage.output).toBeLessThan(20);
    }),
  );

  test.each([false, true])(
    'streamed %s, no input but what came from a cache: has counted',
    inHouse(async (house, isStream: boolean) => {
      const cached = await recordWith(house, isStream, {
        usage: { inputTokens: 500, cachedTokens: 500, outputTokens: 7 },
      });
      expect(cached).toMatchObject({
        isEstimated: false,
        usage: { input: 500, cachedInput: 500, output: 7 },
      });
    }),
  );

  // In a streamed response even that is an item.
  test.each(dialect === 'openai-responses' ? [false] : [false, true])(
    'streamed %s, no output, and says nothing: has counted',
    inHouse(async (house, isStream: boolean) => {
      const usage = { inputTokens: 500, outputTokens: 0 };
      const record = await recordWith(house, isStream, { text: '', tokens: [], usage });
      expect(record).toMatchObject({ isEstimated: false, usage: { input: 500, output: 0 } });
    }),
  );

  test(
    'without input, and with a client that disconnects: the request is estimated',
    inHouse(async (house) => {
      const answer = { usage: { inputTokens: 0, outputTokens: 0 }, usageChunk: 'always' } as const;
      const wall = await house.wallThat({ type: 'stall', after: { contentEvents: 4 }, answer });
      const rig = await house.rigOf([
        { baseUrl: wall.baseUrl, dialects: [dialect], upstreamModel: 'llama-3' },
      ]);
      const { connection, answer: head } = await askOpen(rig, { endpoint, isStream: true });
      await (await head).nextEvent();
      connection.close();
      const [record] = await until(async () => rig.records.length === 1 && rig.records, 2);
      expect(record).toMatchObject({ outcome: 'cancelled', isEstimated: true });
      expect(record?.usage.input).toBeGreaterThan(3);
    }),
  );
});

test.each(['messages', 'chat'] as const)(
  'a plain message that counts its input alone has not counted: its output is not 0 (%s)',
  async (endpoint) =>
    inHouse(async (house) => {
      const says = jsonAnswer({
        type: 'message',
        content: [{ type: 'text', text: sentence }],
        stop_reason: 'end_turn',
        usage: { input_tokens: 5 },
      });
      const wall = await house.wallThat(says);
      const rig = await house.rigOf([
        { baseUrl: wall.baseUrl, dialects: ['anthropic-messages'], upstreamModel: 'llama-3' },
      ]);
      expect((await ask(rig, { endpoint })).status).toBe(200);
      const [record] = await until(async () => rig.records.length === 1 && rig.records, 2);
      expect(record).toMatchObject({ isEstimated: true, usage: { output: 14 } });
    })(),
);

describe('a picture of two megabytes', () => {
  const url = `data:image/png;base64,${'iVBORw0KGgo'.repeat(200_000)}`;
  const content = [
    { type: 'text', text: 'the water runs down to the turbine '.repeat(100) },
    { type: 'image_url', image_url: { url } },
  ];
  const more = { messages: [{ role: 'user', content }] };
  /** The text, and what a picture may cost. */
  const expectFew = (input = 0): void => {
    expect(input).toBeGreaterThan(600 + 900);
    expect(input).toBeLessThan(1_100 + 5_100);
  };

  test.each([
    ['gpt-4o', 'tokenizer'],
    ['llama-3', 'characters'],
  ])(
    'is not a million tokens if %s has not counted it',
    inHouse(async (house, upstreamModel: string, estimatedBy: string) => {
      const wall = await house.wallThat({ type: 'answer', usageChunk: 'never', ...noCounts });
      const rig = await house.rigOf([{ baseUrl: wall.baseUrl, upstreamModel }]);
      expect((await ask(rig, { more })).status).toBe(200);
      const [record] = await until(async () => rig.records.length === 1 && rig.records, 2);
      expect(record).toMatchObject({ isEstimated: true, estimatedBy, outcome: 'answered' });
      expectFew(record?.usage.input);
    }),
  );

  test.each(['broken off', 'given up by its client'])(
    'nor where its answer was %s',
    inHouse(async (house, end: string) => {
      const fault = end === 'broken off' ? 'cut' : 'stall';
      const wall = await house.wallThat({ type: fault, after: { contentEvents: 3 } });
      const rig = await house.rigOf([{ baseUrl: wall.baseUrl, upstreamModel: 'llama-3' }]);
      const { connection, answer } = await askOpen(rig, { isStream: true, more });
      await (await answer).nextEvent();
      if (fault === 'stall') connection.close();
      const [record] = await until(async () => rig.records.length === 1 && rig.records, 2);
      connection.close();
      expect(record).toMatchObject({ isEstimated: true, payer: 'tenant' });
      expectFew(record?.usage.input);
    }),
  );
});

describe('a request that takes several calls', () => {
  const several = async (house: House, model: string, prompts: readonly string[], n: number) => {
    const wall = await house.wallThat({ type: 'answer', usageChunk: 'never', ...noCounts });
    const dialect = n > 1 ? 'anthropic-messages' : 'openai-chat';
    const rig = await house.rigOf([{ baseUrl: wall.baseUrl, dialects: [dialect], upstreamModel: model }]);
    await ask(rig, { endpoint: 'completions', more: { prompt: prompts, n } });
    const calls = prompts.length * n;
    return await until(async () => rig.records.length === calls && rig.records, 2);
  };
  const long = 'the water runs down to the turbine '.repeat(100);

  test.each(['gpt-4o', 'llama-3'])(
    'has the input of %s estimated by what each call asks: a prompt once, not with each of the others',
    inHouse(async (house, model: string) => {
      const [first, second, ...more] = await several(house, model, [long, 'short'], 1);
      expect(more).toEqual([]);
      const inputs = [first?.usage.input ?? 0, second?.usage.input ?? 0].toSorted((a, b) => a - b);
      expect(inputs[0]).toBeLessThan(40);
      expect(inputs[1]).toBeGreaterThan(600);
      expect(inputs[1]).toBeLessThan(1_100);
    }),
  );

  test(
    'and asks for two answers is billed for its prompt as often as the upstream reads it',
    inHouse(async (house) => {
      const records = await several(house, 'llama-3', [long], 2);
      expect(records.map(({ usage }) => usage.input > 600 && usage.input < 1_100)).toEqual([true, true]);
    }),
  );
});
