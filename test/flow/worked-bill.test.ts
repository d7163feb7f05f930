// Does the bill come to what a person works out with pencil and paper? Requests of every kind, each with its cost written
// down here by hand, in picodollars: a dollar per million tokens is 1,000,000 of them a token.

import { describe, expect, test } from 'vitest';
import type { LedgerRecord } from '../../core/contract/ledger-record.ts';
import { compilePrice } from '../../operator/compile/price.ts';
import type { RigTarget } from '../gateway/rig.ts';
import { tableOf } from '../gateway/rig.ts';
import type { Behaviour, WallUsage } from '../support/wall.ts';
import { type AskOptions, ask } from './ask.ts';
import { type House, inHouse } from './house.ts';
import { jsonAnswer } from './json-answer.ts';

const priceOf = (rates: Omit<Parameters<typeof compilePrice>[0], 'currency'>) =>
  compilePrice({ currency: 'USD', ...rates }, 'target');

const plainPrice = { inputPerMillion: '2.50', outputPerMillion: '10' };
const fullPrice = {
  ...plainPrice,
  cachedInputPerMillion: '0.25',
  cacheWritePerMillion: '3.125',
  cacheWriteHourPerMillion: '5',
  reasoningPerMillion: '12',
  tiers: [
    {
      aboveInputTokens: 200_000,
      inputPerMillion: '5',
      cachedInputPerMillion: '0.50',
      outputPerMillion: '15',
    },
  ],
};

const counted = (inputTokens: number, outputTokens: number, more: Partial<WallUsage> = {}): Behaviour => ({
  type: 'answer',
  usage: { inputTokens, outputTokens, cachedTokens: 0, reasoningTokens: 0, ...more },
});

/** A plain answer with counts that the wall has no words for. */
const message = { type: 'message', content: [{ type: 'text', text: 'Hi' }], stop_reason: 'end_turn' };
const chat = {
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
};

/** 412 tokens in and 531 out, and an advisor was asked. */
const advised = {
  input_tokens: 412,
  output_tokens: 531,
  iterations: [
    { type: 'message', model: 'small', input_tokens: 412, output_tokens: 531 },
    { type: 'advisor_message', model: 'large', input_tokens: 8_230, output_tokens: 1_612 },
  ],
};

function streamedMessage(usage: object): Behaviour {
  const events: readonly (readonly [type: string, rest: object])[] = [
    [
      'message_start',
      { message: { ...message, content: [], usage: { input_tokens: 412, output_tokens: 1 } } },
    ],
    ['content_block_start', { index: 0, content_block: { type: 'text', text: '' } }],
    ['content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'Hi' } }],
    ['content_block_stop', { index: 0 }],
    ['message_delta', { delta: { stop_reason: 'end_turn' }, usage }],
    ['message_stop', {}],
  ];
  const body = events
    .map(([type, rest]) => `event: ${type}\ndata: ${JSON.stringify({ type, ...rest })}\n\n`)
    .join('');
  const head = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n';
  return { type: 'raw', bytes: head + body, followedBy: 'fin' };
}

async function billOf(
  house: House,
  targets: readonly (Partial<RigTarget> & { readonly says: Behaviour })[],
  options: AskOptions = {},
): Promise<readonly LedgerRecord[]> {
  const walls = await Promise.all(targets.map(({ says }) => house.wallThat(says)));
  const rig = await house.rigOf(
    targets.map(({ says: _, ...target }, at) => ({ baseUrl: walls[at]?.baseUrl ?? '', ...target })),
  );
  expect((await ask(rig, options)).status).toBe(200);
  return rig.records;
}

const sum = (records: readonly LedgerRecord[]): number | null =>
  records.some(({ costPicodollars }) => costPicodollars === null)
    ? null
    : records.reduce((total, { costPicodollars }) => total + (costPicodollars ?? 0), 0);

interface Item {
  readonly what: string;
  readonly targets: readonly (Partial<RigTarget> & { readonly says: Behaviour })[];
  readonly options?: AskOptions;
  readonly cost: number | null;
}

const full = priceOf(fullPrice);
const withFee = priceOf({ ...plainPrice, perRequest: '0.005' });

const items: readonly Item[] = [
  {
    what: 'input and output',
    targets: [{ price: priceOf(plainPrice), says: counted(1_000, 500) }],
    // 1,000 × 2,500,000 + 500 × 10,000,000
    cost: 7_500_000_000,
  },
  {
    what: 'most of it from the cache, streamed',
    targets: [{ price: full, says: counted(1_000, 100, { cachedTokens: 800 }) }],
    options: { isStream: true },
    // 200 × 2,500,000 + 800 × 250,000 + 100 × 10,000,000
    cost: 1_700_000_000,
  },
  {
    what: 'written to the cache for five minutes and for an hour, whose input counter leaves all of that out',
    targets: [
      {
        price: full,
        dialects: ['anthropic-messages'],
        says: jsonAnswer({
          ...message,
          usage: {
            input_tokens: 100,
            cache_read_input_tokens: 800,
            cache_creation_input_tokens: 300,
            cache_creation: { ephemeral_5m_input_tokens: 200, ephemeral_1h_input_tokens: 100 },
            output_tokens: 50,
          },
        }),
      },
    ],
    options: { endpoint: 'messages' },
    // 100 × 2,500,000 + 800 × 250,000 + 200 × 3,125,000 + 100 × 5,000,000 + 50 × 10,000,000
    cost: 2_075_000_000,
  },
  ...[
    { what: 'what an advisor was asked too', says: jsonAnswer({ ...message, usage: advised }) },
    { what: 'what an advisor was asked too, streamed', says: streamedMessage(advised), isStream: true },
  ].map(
    ({ what, says, isStream = false }): Item => ({
      what,
      targets: [{ price: full, dialects: ['anthropic-messages'], says }],
      options: { endpoint: 'messages', isStream },
      // (412 + 8,230) × 2,500,000 + (531 + 1,612) × 10,000,000
      cost: 43_035_000_000,
    }),
  ),
  {
    what: 'reasoning',
    targets: [{ price: full, says: counted(10, 300, { reasoningTokens: 250 }) }],
    // 10 × 2,500,000 + 50 × 10,000,000 + 250 × 12,000,000
    cost: 3_525_000_000,
  },
  {
    what: 'an input of just as many tokens as the tier is above',
    targets: [{ price: full, says: counted(200_000, 1) }],
    // 200,000 × 2,500,000 + 10,000,000
    cost: 500_010_000_000,
  },
  {
    what: 'an input of one token more: the tier, for all of it',
    targets: [{ price: full, says: counted(200_001, 10, { cachedTokens: 100_000 }) }],
    // 100,001 × 5,000,000 + 100,000 × 500,000 + 10 × 15,000,000
    cost: 550_155_000_000,
  },
  {
    what: 'a fee for the request, which failed at one provider and was delivered by the next',
    targets: [
      { price: withFee, says: { type: 'status', status: 503 } },
      { price: withFee, says: counted(100, 10) },
    ],
    // 0 + 100 × 2,500,000 + 10 × 10,000,000 + 5,000,000,000
    cost: 5_350_000_000,
  },
  {
    what: 'a fee for the request, which took two calls',
    targets: [{ price: withFee, dialects: ['openai-chat'], says: counted(100, 10) }],
    options: { endpoint: 'completions', more: { prompt: ['one', 'two'] } },
    // 2 × (100 × 2,500,000 + 10 × 10,000,000) + 5,000,000,000
    cost: 5_700_000_000,
  },
  {
    what: 'sound in and out, at the price of text',
    targets: [
      {
        price: full,
        says: jsonAnswer({
          ...chat,
          usage: {
            prompt_tokens: 100,
            completion_tokens: 20,
            prompt_tokens_details: { audio_tokens: 40 },
            completion_tokens_details: { audio_tokens: 15, rejected_prediction_tokens: 2 },
          },
        }),
      },
    ],
    // 100 × 2,500,000 + 20 × 10,000,000
    cost: 450_000_000,
  },
  { what: 'no price: not known, and not 0', targets: [{ price: null, says: counted(100, 10) }], cost: null },
  {
    what: 'an own key: nothing here',
    targets: [
      { price: full, provider: 'team/own', providerEntry: { isPlatform: false }, says: counted(100, 10) },
    ],
    cost: 0,
  },
];

describe('the bill of a request is exact to the picodollar for', () => {
  test.each(items)(
    '$what: $cost',
    inHouse(async (house, { targets, options, cost }: Item) => {
      const records = await billOf(house, targets, options);
      expect(sum(records)).toBe(cost);
      expect(records.filter(({ isEstimated, outcome }) => isEstimated && outcome === 'answered')).toEqual([]);
    }),
  );

  test(
    'a price that changes in mid-day: running calls cost 350000000 by the old one, the next 420000000 by the new one',
    inHouse(async (house) => {
      const changed = Promise.withResolvers<void>();
      const says = counted(100, 10);
      const wall = await house.wallThat([
        { ...says, beforeHeaders: { until: changed.promise } } as Behaviour,
        says,
      ]);
      const tableAt = (price: RigTarget['price']) =>
        tableOf([{ baseUrl: wall.baseUrl, ...(price === undefined ? {} : { price }) }]);
      const [before, after] = [
        priceOf(plainPrice),
        priceOf({ inputPerMillion: '3', outputPerMillion: '12' }),
      ];
      const rig = await house.rigOf([{ baseUrl: wall.baseUrl, price: before }]);
      const first = ask(rig);
      await wall.nextCall();
      rig.offer(tableAt(after));
      changed.resolve();
      await first;
      await ask(rig);
      expect(rig.records.map(({ price, costPicodollars }) => [price, costPicodollars])).toEqual([
        [before, 350_000_000],
        [after, 420_000_000],
      ]);
    }),
  );
});
