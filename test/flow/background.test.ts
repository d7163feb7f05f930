// What is billed of a response that its provider continues, with or without a waiting client?

import { describe, expect, test } from 'vitest';
import { type Rig, type RigTarget, startRig, tableOf } from '../gateway/rig.ts';
import { until } from '../support/until.ts';
import type { Behaviour } from '../support/wall.ts';
import { ask, askOpen, errorOf } from './ask.ts';
import { type House, inHouse } from './house.ts';
import { jsonAnswer } from './json-answer.ts';

const responses = { endpoint: 'responses' } as const;
const bounded = { max_output_tokens: 50_000 };
const background = { ...bounded, background: true };

const responseThat = (more: object): object => ({
  id: 'resp_1',
  object: 'response',
  model: 'o3-pro',
  output: [],
  usage: null,
  error: null,
  ...more,
});
const counts = { input_tokens: 7, output_tokens: 3, total_tokens: 10 };

const event = (type: string, members: object): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`;
const created = (more: object): string => event('response.created', { response: responseThat(more) });
const queued = created({ status: 'queued', background: true });
const delta = event('response.output_text.delta', { output_index: 0, delta: 'The gate' });
const completed = event('response.completed', {
  response: responseThat({ status: 'completed', background: true, usage: counts }),
});
const failed = event('response.failed', { response: responseThat({ status: 'failed' }) });

const streamOf = (text: string, followedBy: 'fin' | 'hang' = 'fin'): Behaviour => ({
  type: 'raw',
  bytes: `HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n${followedBy === 'fin' ? 'connection: close\r\n' : ''}\r\n${text}`,
  followedBy,
});

async function rigWith(house: House, says: Behaviour, target: Partial<RigTarget> = {}) {
  const wall = await house.wallThat(says);
  return await house.rigOf([
    { baseUrl: wall.baseUrl, dialects: ['openai-responses'], upstreamModel: 'llama-3', ...target },
  ]);
}

const onlyRecord = async ({ records }: Pick<Rig, 'records'>) => {
  const [record] = await until(async () => records.length === 1 && records, 2);
  return record;
};

const reserved = { isEstimated: true, usage: { output: 50_000 } };
const asCounted = { isEstimated: false, usage: { input: 7, output: 3 } };

describe('a plain answer', () => {
  test.each([
    ['queued, as was asked for', 'queued', background],
    ['in progress, as was asked for', 'in_progress', background],
    ['in progress, although not requested', 'in_progress', bounded],
  ])(
    'that is still %s, is billed with its reservation, and marked as an estimate',
    inHouse(async (house, _: string, status: string, more: object) => {
      const rig = await rigWith(house, jsonAnswer(responseThat({ status })));
      expect((await ask(rig, { ...responses, more })).status).toBe(200);
      const record = await onlyRecord(rig);
      expect(record).toMatchObject({ outcome: 'answered', payer: 'tenant', ...reserved });
      expect(record?.usage).not.toMatchObject({ input: 0 });
    }),
  );

  test(
    'without a limit reserves the default, also if a tokenizer counts the prompt',
    inHouse(async (house) => {
      const rig = await rigWith(house, jsonAnswer(responseThat({ status: 'queued' })), {
        upstreamModel: 'gpt-4o',
      });
      await ask(rig, { ...responses, more: { background: true } });
      expect(await onlyRecord(rig)).toMatchObject({ estimatedBy: 'tokenizer', usage: { output: 4_096 } });
    }),
  );

  test(
    'that is complete, though requested in the background, is billed as counted',
    inHouse(async (house) => {
      const rig = await rigWith(house, jsonAnswer(responseThat({ status: 'completed', usage: counts })));
      await ask(rig, { ...responses, more: background });
      expect(await onlyRecord(rig)).toMatchObject(asCounted);
    }),
  );

  test(
    'whose caller disconnects before it arrives is billed with its reservation',
    inHouse(async (house) => {
      const wall = await house.wallThat({ type: 'hang', when: 'before-headers' });
      const rig = await house.rigOf([{ baseUrl: wall.baseUrl, dialects: ['openai-responses'] }]);
      const { connection } = await askOpen(rig, { ...responses, more: background });
      await wall.nextCall();
      connection.close();
      expect(await onlyRecord(rig)).toMatchObject({ outcome: 'cancelled', payer: 'tenant', ...reserved });
    }),
  );

  test(
    'that is refused costs nothing',
    inHouse(async (house) => {
      const rig = await rigWith(house, { type: 'status', status: 400 });
      await ask(rig, { ...responses, more: background });
      expect(await onlyRecord(rig)).toMatchObject({ outcome: 'failed', usage: { input: 0, output: 0 } });
    }),
  );
});

describe('a stream', () => {
  test.each([
    ['behind content', queued + delta, 'broken-off', 'tenant'],
    ['before any content', queued, 'failed', 'platform'],
  ])(
    'that ends %s, and is made in the background, is billed with its reservation',
    inHouse(async (house, _: string, text: string, outcome: string, payer: string) => {
      const rig = await rigWith(house, streamOf(text));
      await ask(rig, { ...responses, isStream: true, more: background });
      expect(await onlyRecord(rig)).toMatchObject({ outcome, payer, ...reserved });
    }),
  );

  test.each([
    ['reported so by its provider', queued, bounded],
    ['asked for so', created({ status: 'in_progress' }), background],
  ])(
    'whose caller disconnects, %s, is billed with its reservation',
    inHouse(async (house, _: string, beginning: string, more: object) => {
      const rig = await rigWith(house, streamOf(beginning + delta, 'hang'));
      const { connection, answer } = await askOpen(rig, { ...responses, isStream: true, more });
      await (await answer).nextEvent();
      connection.close();
      expect(await onlyRecord(rig)).toMatchObject({ outcome: 'cancelled', payer: 'tenant', ...reserved });
    }),
  );

  test.each([
    ['completed', queued + delta + completed, background, asCounted],
    ['failed', queued + delta + failed, background, { isEstimated: true, usage: { output: 2 } }],
    [
      'broken off, and not in the background',
      created({ status: 'in_progress', background: false }) + delta,
      background,
      { isEstimated: true, usage: { output: 2 } },
    ],
    [
      'broken off, and never asked for in the background',
      created({ status: 'in_progress' }) + delta,
      bounded,
      { isEstimated: true, usage: { output: 2 } },
    ],
  ])(
    'that is %s is billed as counted or seen',
    inHouse(async (house, _: string, text: string, more: object, wanted: object) => {
      const rig = await rigWith(house, streamOf(text));
      await ask(rig, { ...responses, isStream: true, more });
      expect(await onlyRecord(rig)).toMatchObject(wanted);
    }),
  );
});

test(
  'background responses use up a budget and the tokens of a minute',
  inHouse(async (house) => {
    const wall = await house.wallThat(jsonAnswer(responseThat({ status: 'queued' })));
    const price = { input: 0, output: 80_000_000, source: 'target' };
    const table = tableOf([{ baseUrl: wall.baseUrl, dialects: ['openai-responses'], price }]);
    const served = async (limit: Partial<(typeof table.keys)[number]>): Promise<string | undefined> => {
      const rig = await startRig({ ...table, keys: table.keys.map((key) => ({ ...key, ...limit })) });
      house.onClose(() => rig.close());
      expect((await ask(rig, { ...responses, more: background })).status).toBe(200);
      const next = await ask(rig, { ...responses, more: background });
      expect(next.status).toBe(429);
      return errorOf(next)?.code ?? undefined;
    };
    expect(await served({ budgets: [{ period: 'Day', limitMicrodollars: 4_000_000 }] })).toBe(
      'insufficient_quota',
    );
    expect(await served({ limits: { tokensPerMinute: 60_000 } })).toBe('rate_limit_exceeded');
  }),
);
