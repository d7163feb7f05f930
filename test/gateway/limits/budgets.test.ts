// What does a caller see whose budget is spent? Real sockets, all dialects, and what the official SDKs make of it.

import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../../core/clock.ts';
import type { Budget } from '../../../core/contract/budget.ts';
import type { Price, RoutingTable } from '../../../core/contract/routing-table.ts';
import { openRaw, writeRequest } from '../../support/raw-client.ts';
import { until } from '../../support/until.ts';
import { startWall, type Wall } from '../../support/wall.ts';
import { errorOf, messagesErrorOf, post } from '../endpoints/ask.ts';
import { keyEntry, type Rig, startRig, tableOf, testKey } from '../rig.ts';
import { content, dialects, type Path, paths } from './bodies.ts';

let wall: Wall;
let rig: Rig;

beforeEach(async () => {
  wall = await startWall();
});
afterEach(async () => {
  await rig?.close();
  await wall.close();
});

/** A cent for each token of the answer; what is sent costs nothing. */
const cents: Price = { input: 0, output: 10_000_000_000, source: 'target' };
/** In the middle of a month, and it stays so: none of its periods ends while a test runs. */
const noonMs = Date.UTC(2026, 10, 18, 12);
const nextMonth = '2026-12-01T00:00:00Z';
const startAtNoon = (table: RoutingTable): Promise<Rig> =>
  startRig(table, { clock: { ...systemClock, wallMs: () => noonMs } });

const dollars = (amount: number): number => amount * 1_000_000;
const month = (limit: number): Budget => ({ period: 'Month', limitMicrodollars: dollars(limit) });

function tableWith(
  budgets: Budget[],
  { price = cents, provider = 'platform/p0' }: { price?: Price | null; provider?: string } = {},
): RoutingTable {
  const isPlatform = provider.startsWith('platform/');
  const table = tableOf([{ baseUrl: wall.baseUrl, price, provider, providerEntry: { isPlatform } }]);
  return { ...table, keys: table.keys.map((entry) => ({ ...entry, budgets })) };
}

const ask = (path: Path = '/v1/chat/completions', more: object = {}) =>
  post(rig, path, { ...dialects[path], ...more });

describe.each(paths)('%s', (path) => {
  test('is served until the budget is used up; the error then names the budget, its size and its reset', async () => {
    rig = await startAtNoon(tableWith([month(0.5)]));
    wall.script({ type: 'answer', usage: { inputTokens: 5, outputTokens: 25 } });
    const first = await ask(path);
    const second = await ask(path, { stream: true });
    expect([first.status, second.status]).toEqual([200, 200]);
    const refused = await ask(path);
    const isMessages = path === '/v1/messages';
    expect([refused.status, refused.headers['x-should-retry'], refused.headers['retry-after']]).toEqual([
      isMessages ? 402 : 429,
      'false',
      undefined,
    ]);
    const { message, type, code } = isMessages ? messagesErrorOf(refused).error : errorOf(refused);
    expect([type, code]).toEqual([isMessages ? 'billing_error' : 'insufficient_quota', 'insufficient_quota']);
    expect(message).toBe(
      `This API key has used up its budget of $0.50 for the month (UTC). It resets at ${nextMonth}. Ask your platform team to raise it.`,
    );
    expect(wall.calls).toHaveLength(2);
    const text = await rig.gateway.metrics.registry.metrics();
    expect(text).toMatch(/^penstock_limited_total\{subject="api_key",limit="budget"\} 1$/m);
    expect(text).toMatch(/^penstock_limits_held 0$/m);
  });
});

test('the official SDKs get the errors on which they stop', async () => {
  rig = await startAtNoon(tableWith([month(0)]));
  const openai = new OpenAI({ apiKey: testKey, baseURL: rig.baseUrl });
  const anthropic = new Anthropic({ apiKey: testKey, baseURL: rig.url });
  const user = [{ role: 'user' as const, content: 'hi' }];
  await expect(openai.chat.completions.create({ model: 'm', messages: user })).rejects.toMatchObject({
    status: 429,
    code: 'insufficient_quota',
    type: 'insufficient_quota',
  });
  await expect(openai.responses.create({ model: 'm', input: 'hi' })).rejects.toMatchObject({
    status: 429,
    code: 'insufficient_quota',
  });
  await expect(
    anthropic.messages.create({ model: 'm', max_tokens: 5, messages: user }),
  ).rejects.toMatchObject({
    status: 402,
    error: { error: { type: 'billing_error' } },
  });
  // None of them has tried again by itself, and nothing went to a provider.
  const text = await rig.gateway.metrics.registry.metrics();
  expect(text).toMatch(/^penstock_limited_total\{subject="api_key",limit="budget"\} 3$/m);
  expect(wall.calls).toEqual([]);
});

test('of several budgets the error names the one that is used up; a total never resets', async () => {
  rig = await startAtNoon(tableWith([month(1_000), { period: 'Total', limitMicrodollars: 150_001 }]));
  wall.script({ type: 'answer', usage: { inputTokens: 5, outputTokens: 20 } });
  expect((await ask()).status).toBe(200);
  expect(errorOf(await ask()).message).toBe(
    'This API key has used up its budget of $0.150001 in total. It does not reset. Ask your platform team to raise it.',
  );
});

test('the reservations of requests in flight count: the next request gets Retry-After, and is served if they cost less', async () => {
  rig = await startAtNoon(tableWith([month(1)]));
  wall.script({ type: 'hang', when: 'before-headers' });
  const held = await openRaw({ port: Number(new URL(rig.url).port) });
  await held.send(
    writeRequest({
      path: '/v1/chat/completions',
      headers: { authorization: `Bearer ${testKey}` },
      body: { ...dialects['/v1/chat/completions'], max_tokens: 90 },
    }),
  );
  await wall.nextCall();
  const refused = await ask('/v1/messages');
  expect([refused.status, refused.headers['retry-after'], refused.headers['x-should-retry']]).toEqual([
    429,
    '1',
    undefined,
  ]);
  expect(messagesErrorOf(refused).error).toMatchObject({
    type: 'rate_limit_error',
    message:
      'This API key has a budget of $1.00 for the month (UTC); what is left of it is reserved for requests in flight or for other gateways. Please try again in 1s.',
  });
  held.abort();
  wall.script({ type: 'answer', usage: { inputTokens: 5, outputTokens: 20 } });
  await until(async () => (await ask()).status === 200);
});

test('a long prompt in Chinese is reserved by its length, so that many at a time stay within the budget', async () => {
  // A microdollar a byte: 66,000 of them are 6.6 cents.
  const price: Price = { input: 4_000_000, output: 0, source: 'target' };
  const prompt = '水流过闸门，带动涡轮。'.repeat(2_000);
  rig = await startAtNoon(tableWith([month(0.12)], { price }));
  wall.script({ type: 'hang', when: 'before-headers' });
  const body = { ...dialects['/v1/chat/completions'], messages: [{ role: 'user', content: prompt }] };
  const held = await openRaw({ port: Number(new URL(rig.url).port) });
  const headers = { authorization: `Bearer ${testKey}` };
  await held.send(writeRequest({ path: '/v1/chat/completions', headers, body }));
  await wall.nextCall();
  wall.script({ type: 'answer' });
  expect((await ask('/v1/chat/completions', body)).status).toBe(429);
  // A short one has room beside it.
  expect((await ask()).status).toBe(200);
  held.abort();
});

describe('input that the body refers to and does not hold', () => {
  const part = (one: object) => ({ messages: [{ role: 'user', content: [one] }] });
  const pdf = { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0x'.repeat(180_000) };
  const named: [string, Path, object][] = [
    ['a response before', '/v1/responses', { previous_response_id: 'resp_1' }],
    ['a file', '/v1/chat/completions', part({ type: 'file', file: { file_id: 'file-1' } })],
    [
      'a document behind an address',
      '/v1/messages',
      part({ type: 'document', source: { type: 'url', url: 'https://example.com/report.pdf' } }),
    ],
    ['a document of many pages', '/v1/messages', part({ type: 'document', source: pdf })],
  ];

  test.each(named)(
    '%s counts with all that fits into the model: one request ends beyond the budget',
    async (_, path, more) => {
      // Three dollars per million tokens, of which 300,000 fit in.
      const table = tableOf([
        {
          baseUrl: wall.baseUrl,
          price: { input: 3_000_000, output: 0, source: 'target' },
          contextLength: 300_000,
          dialects: ['openai-chat', 'openai-responses', 'anthropic-messages'],
        },
      ]);
      rig = await startAtNoon({ ...table, keys: table.keys.map((key) => ({ ...key, budgets: [month(1)] })) });
      const gate = Promise.withResolvers<void>();
      wall.script({
        type: 'answer',
        usage: { inputTokens: 300_000, outputTokens: 1 },
        beforeHeaders: { until: gate.promise },
      });
      const first = [ask(path, more), ask(path, more)];
      for (const _one of first) await wall.nextCall();
      const others = await Promise.all([ask(path, more), ask(path, more), ask()]);
      expect(others.map(({ status }) => status)).toEqual([429, 429, 429]);
      gate.resolve();
      expect((await Promise.all(first)).map(({ status }) => status)).toEqual([200, 200]);
      const spent = rig.records.reduce((sum, { costPicodollars }) => sum + (costPicodollars ?? 0), 0);
      expect(spent / 1e12).toBeCloseTo(1.8);
    },
  );
});

test('a request that could cost more than the rest is served if no other is in flight', async () => {
  rig = await startAtNoon(tableWith([month(0.5)]));
  wall.script({ type: 'answer', usage: { inputTokens: 5, outputTokens: 10 } });
  const statuses = [];
  for (let index = 0; index < 6; index++) {
    statuses.push((await ask('/v1/chat/completions', { max_tokens: 100_000 })).status);
  }
  expect(statuses).toEqual([200, 200, 200, 200, 200, 429]);
});

test('a new key of the same ApiKey, and a higher budget, act at once', async () => {
  const table = tableWith([month(0.1)]);
  rig = await startAtNoon(table);
  wall.script({ type: 'answer', usage: { inputTokens: 5, outputTokens: 10 } });
  expect([(await ask()).status, (await ask()).status]).toEqual([200, 429]);
  const newKey = `psk_${'n'.repeat(49)}`;
  rig.offer({ keys: [...table.keys, { ...keyEntry(newKey, 'team/key'), budgets: [month(0.1)] }] });
  const byNew = await post(rig, '/v1/chat/completions', dialects['/v1/chat/completions'], {
    authorization: `Bearer ${newKey}`,
  });
  expect(byNew.status).toBe(429);
  rig.offer({ keys: table.keys.map((entry) => ({ ...entry, budgets: [month(0.2)] })) });
  expect((await ask()).status).toBe(200);
});

test('a failure before delivery costs the budget nothing', async () => {
  rig = await startAtNoon(tableWith([month(0.1)]));
  wall.script({ type: 'status', status: 500 });
  for (let index = 0; index < 3; index++) expect((await ask()).status).toBeGreaterThanOrEqual(500);
  wall.script({ type: 'answer', usage: { inputTokens: 5, outputTokens: 10 } });
  await until(async () => (await ask()).status === 200);
});

test("calls to a tenant's own provider cost it nothing, and pass after its budget is used up", async () => {
  rig = await startAtNoon(tableWith([month(0)], { provider: 'team/own' }));
  expect((await ask()).status).toBe(200);
});

test('a model without a price is refused to a key with a budget, by name, and served to others', async () => {
  const table = tableWith([month(5)], { price: null });
  rig = await startAtNoon(table);
  const refused = await ask();
  expect([refused.status, errorOf(refused).code]).toEqual([404, 'model_not_found']);
  expect(errorOf(refused).message).toBe(
    "The model 'm' has no price, and a key with a budget can only call models with a price. Its ModelRoute team/m needs spec.pricing; its condition Priced says why.",
  );
  rig.offer({ keys: [keyEntry(testKey, 'team/key')] });
  expect((await ask()).status).toBe(200);
});

test('counting tokens is free', async () => {
  rig = await startAtNoon(tableWith([month(0)]));
  const counted = await post(rig, '/v1/messages/count_tokens', { model: 'm', messages: content });
  expect(counted.status).toBe(200);
});

test('the keys of a namespace have its budget together, and those of another have none of it', async () => {
  const table = tableWith([month(1_000)]);
  const [other, foreign] = [`psk_${'o'.repeat(49)}`, `psk_${'f'.repeat(49)}`];
  const tenantBudgets = [{ namespace: 'team', budgets: [month(0.2)] }];
  rig = await startAtNoon({
    ...table,
    settings: { ...table.settings, tenantBudgets },
    routes: table.routes.map((route) => ({ ...route, sharedWith: '*' as const })),
    keys: [...table.keys, keyEntry(other, 'team/other'), keyEntry(foreign, 'elsewhere/key')],
  });
  wall.script({ type: 'answer', usage: { inputTokens: 5, outputTokens: 10 } });
  const by = (key: string) =>
    post(rig, '/v1/chat/completions', dialects['/v1/chat/completions'], { authorization: `Bearer ${key}` });
  expect([(await by(testKey)).status, (await by(other)).status]).toEqual([200, 200]);
  const refused = await by(other);
  expect([refused.status, errorOf(refused).message]).toEqual([
    429,
    `The namespace 'team' has used up its budget of $0.20 for the month (UTC). It resets at ${nextMonth}. Ask your platform team to raise it.`,
  ]);
  expect((await by(foreign)).status).toBe(200);
});
