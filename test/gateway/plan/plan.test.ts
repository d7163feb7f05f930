// What does a gateway answer when it is asked what would happen? Over its internal port, as the ledger asks.

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  CATALOG_PATH,
  catalogAnswerSchema,
  PLAN_PATH,
  type PlanAnswer,
  planAnswerSchema,
} from '../../../core/contract/plan.ts';
import type { RoutingTable } from '../../../core/contract/routing-table.ts';
import type { ReadableJournal } from '../../../gateway/meter/journal.ts';
import type { GatewayOptions } from '../../../gateway/process/options.ts';
import { rawCall } from '../../support/raw-client.ts';
import { startWall, type Wall } from '../../support/wall.ts';
import { bearer, get, post } from '../endpoints/ask.ts';
import { keyEntry, type Rig, type RigTarget, startRig, tableOf, testKey } from '../rig.ts';

const token = 't'.repeat(43);
const noJournal: ReadableJournal = {
  begin() {},
  append() {},
  flush: async () => {},
  close: async () => {},
  read: async () => undefined,
  onWritten: () => () => {},
};

let wall: Wall;
let rig: Rig;

beforeEach(async () => {
  wall = await startWall();
});
afterEach(async () => {
  await rig?.close();
  await wall.close();
});

async function start(
  targets: readonly Partial<RigTarget>[],
  change: (table: RoutingTable) => RoutingTable = (table) => table,
  limits?: GatewayOptions['limits'],
): Promise<void> {
  const table = tableOf(targets.map((target) => ({ baseUrl: wall.baseUrl, ...target })));
  rig = await startRig(change(table), {
    exchange: { port: 0, journal: noJournal, token: () => token },
    random: () => 0,
    ...(limits ? { limits } : {}),
  });
}

async function ask(path: string, body: object | string, given = token) {
  const port = Number(new URL(rig.gateway.internalUrl ?? '').port);
  const headers = { authorization: `Bearer ${given}` };
  return await rawCall({ port }, { path, method: 'POST', headers, body });
}

const question = { namespace: 'team', apiKey: 'key', model: 'm', dialect: 'chat' };

/** As the contract has it, with nothing besides. */
async function planOf(more: object = {}): Promise<PlanAnswer> {
  const { status, json } = await ask(PLAN_PATH, { ...question, ...more });
  expect([status, json]).toEqual([200, planAnswerSchema.parse(json)]);
  return planAnswerSchema.parse(json);
}

const chat = { model: 'm', messages: [{ role: 'user', content: 'hi' }] };

test('a plan names the targets in order, their dialects and what is lost, and sends nothing', async () => {
  await start([
    { name: 'first', keys: { a: 'secret-a' } },
    {
      name: 'second',
      dialects: ['anthropic-messages'],
      providerEntry: { dialects: ['anthropic-messages'] },
    },
    { name: 'third', weight: 0 },
    { name: 'fourth', dialects: ['openai-completions'] },
  ]);
  const body = { messages: chat.messages, tools: [weather], seed: 4 };
  const { targets, ...plan } = await planOf({ body });
  expect(plan).toMatchObject({
    generation: 1,
    model: 'm',
    dialect: 'chat',
    route: { namespace: 'team', name: 'm' },
    estimate: { inputTokens: expect.any(Number), isOfExample: false },
  });
  expect(plan.refusal).toBeUndefined();
  expect(
    targets.map(({ order, name, state, verdict, lostFields }) => [order, name, state, verdict, lostFields]),
  ).toEqual([
    [1, 'first', 'wouldBeTried', 'native', []],
    [2, 'second', 'wouldBeTried', 'lossy', ['seed']],
    [3, 'third', 'wouldBeSkipped', 'native', []],
    [4, 'fourth', 'wouldBeSkipped', 'impossible', []],
  ]);
  expect(targets[0]).toMatchObject({
    provider: 'platform/p0',
    upstreamModel: 'upstream-0',
    endpoint: new URL(wall.baseUrl).host,
    providerKey: 'a',
    upstreamDialect: 'openai-chat',
  });
  expect(targets.map(({ reasons }) => reasons.join(' '))).toEqual([
    'Priority 0 is the lowest with an available target.',
    'It is tried if the targets before it fail.',
    'Its weight is 0: it is drained.',
    expect.stringContaining("'tools' cannot be carried"),
  ]);
  expect(JSON.stringify(targets)).not.toContain('secret-a');
  expect(wall.calls).toEqual([]);
});

test('a plan names the target whose provider takes no image by URL', async () => {
  const dialects: ['anthropic-messages'] = ['anthropic-messages'];
  await start([
    { dialects, providerEntry: { dialects, messagesSources: 'base64' } },
    { dialects, providerEntry: { dialects } },
  ]);
  const content = [{ type: 'image_url', image_url: { url: 'https://example.com/a.png' } }];
  const { targets } = await planOf({ body: { messages: [{ role: 'user', content }] } });
  expect(targets.map(({ name, state, verdict }) => [name, state, verdict])).toEqual([
    ['t1', 'wouldBeTried', 'translated'],
    ['t0', 'wouldBeSkipped', 'impossible'],
  ]);
  expect(targets[1]?.reasons).toEqual([expect.stringContaining('takes no images by URL. Send it as base64')]);
});

const weather = {
  type: 'function',
  function: { name: 'weather', parameters: { type: 'object', properties: {} } },
};

test('a plan estimates the input, its cost at the first target, and the highest cost at the dearest', async () => {
  const price = { input: 3_000_000, output: 4_000_000, source: 'target' };
  await start([{}, { price }]);
  const { estimate } = await planOf({ body: { messages: chat.messages, max_tokens: 10 } });
  const input = estimate?.inputTokens ?? 0;
  expect(input).toBeGreaterThan(5);
  expect(estimate).toEqual({
    inputTokens: input,
    outputTokensMax: 10,
    costPicodollars: input * 1_000_000,
    costPicodollarsMax: input * 3_000_000 + 10 * 4_000_000,
    isOfExample: false,
  });
  expect((await planOf()).estimate?.isOfExample).toBe(true);
});

test('a plan shows provisioned capacity as such, and not as a price of zero', async () => {
  await start([{ price: { input: 0, output: 0, source: 'provisioned' } }]);
  const { estimate } = await planOf({ body: { messages: chat.messages, max_tokens: 10 } });
  expect(estimate).toMatchObject({ costPicodollars: 0, costPicodollarsMax: 0, isProvisioned: true });
});

test('a plan names skipped targets, with reason and duration', async () => {
  await start([{ name: 'first', keys: { a: 'A', b: 'B' } }, { name: 'second' }]);
  wall.script({ type: 'status', status: 429 });
  await post(rig, '/v1/chat/completions', chat);
  const { targets } = await planOf();
  const resting = targets.filter(({ reasons }) =>
    reasons.some((reason) =>
      /^The key is in cooldown for this model after a rate limit, for \d+ s more\.$/.test(reason),
    ),
  );
  expect(resting.length).toBeGreaterThan(0);
  for (const { state } of resting) expect(state).toBe('wouldBeSkipped');
});

test('a plan shows the share of each peer, and that its order was drawn', async () => {
  await start([
    { priority: 0, weight: 3 },
    { priority: 0, weight: 1 },
  ]);
  const { targets } = await planOf();
  expect(targets.map(({ share }) => share)).toEqual([0.75, 0.25]);
  expect(targets[0]?.reasons[0]).toMatch(/chosen by weight, like 75 % of the calls/);
});

describe('limits in a plan', () => {
  const limits = { requestsPerMinute: 2, tokensPerMinute: 100_000, maxConcurrentRequests: 3 };
  const budgets = [{ period: 'Month' as const, limitMicrodollars: 2_000_000 }];

  test('are as for a request, are not used up by plans, and refuse with the message of the request', async () => {
    await start([{}], (table) => ({
      ...table,
      keys: table.keys.map((key) => ({ ...key, limits, budgets })),
    }));
    for (let at = 0; at < 5; at++) await planOf();
    await post(rig, '/v1/chat/completions', chat);
    const plan = await planOf();
    expect(plan.limits).toMatchObject({
      sharedBy: 1,
      rates: [
        { of: 'apiKey', name: 'requests', perMinute: 2, remaining: 1 },
        { of: 'apiKey', name: 'tokens', perMinute: 100_000 },
      ],
      concurrency: [{ of: 'apiKey', limit: 3, underWay: 0 }],
      budgets: [{ of: 'apiKey', period: 'Month', limitUsd: '2', heldUsd: '0' }],
    });
    await post(rig, '/v1/chat/completions', chat);
    const { refusal, targets } = await planOf();
    const { status, json } = await post(rig, '/v1/chat/completions', chat);
    const { error } = json as { error: { code: string; message: string } };
    expect(refusal).toMatchObject({ status, code: error.code });
    expect(withoutNumbers(refusal?.message)).toBe(withoutNumbers(error.message));
    expect(targets).toHaveLength(1);
  });

  test('of a namespace are shown beside those of the key', async () => {
    await start([{}], (table) => ({
      ...table,
      settings: { ...table.settings, tenantLimits: [{ namespace: 'team', limits }] },
      keys: table.keys.map((key) => ({ ...key, limits: { requestsPerMinute: 7 } })),
    }));
    await post(rig, '/v1/chat/completions', chat);
    expect((await planOf()).limits).toMatchObject({
      rates: [
        { of: 'apiKey', name: 'requests', perMinute: 7, remaining: 6 },
        { of: 'namespace', name: 'requests', perMinute: 2, remaining: 1 },
        { of: 'namespace', name: 'tokens', perMinute: 100_000 },
      ],
      concurrency: [{ of: 'namespace', limit: 3, underWay: 0 }],
    });
  });

  test('of upstreams that cannot be read are reported: such a target is skipped, and without another it is 503', async () => {
    const store = { url: 'redis://127.0.0.1:9', prefix: 'test', password: undefined };
    const closed = { store, callBudgetMs: 100, onStoreError: 'Deny', gateways: 1 } as const;
    const limited = { providerEntry: { limits: { requestsPerMinute: 5 } } };
    await start([limited, {}], undefined, closed);
    const both = await planOf();
    expect([both.refusal, both.targets.map(({ state }) => state)]).toEqual([
      undefined,
      ['wouldBeSkipped', 'wouldBeTried'],
    ]);
    expect(both.targets[0]?.reasons).toEqual([expect.stringContaining('does not answer')]);
    rig.offer(tableOf([{ ...limited, baseUrl: wall.baseUrl }]));
    expect((await planOf()).refusal).toMatchObject({ status: 503, code: 'limits_unavailable' });
  });

  test('of a budget that is used up are shown with the refusal of its dialect', async () => {
    await start([{}], (table) => ({
      ...table,
      keys: table.keys.map((key) => ({ ...key, budgets: [{ period: 'Day', limitMicrodollars: 0 }] })),
    }));
    expect((await planOf()).refusal).toMatchObject({ status: 429, code: 'insufficient_quota' });
    expect((await planOf({ dialect: 'messages' })).refusal).toMatchObject({ status: 402 });
  });
});

test('fields that would choose another model are among the lost fields of a plan', async () => {
  await start([{ providerEntry: { modelMembers: ['models', 'route'] } }]);
  const { targets } = await planOf({ body: { messages: chat.messages, models: ['dear'], route: null } });
  expect(targets).toMatchObject([{ verdict: 'lossy', lostFields: ['models'] }]);
});

const withoutNumbers = (text = '') => text.replaceAll(/\d+/g, 'N');

test.each([
  [{ model: 'other' }, 404, 'model_not_found'],
  [{ apiKey: 'nobody' }, 401, 'invalid_api_key'],
  [{ apiKey: 'other/key' }, 401, 'invalid_api_key'],
  [{ apiKey: 'old' }, 401, 'invalid_api_key'],
  [{ apiKey: 'narrow' }, 404, 'model_not_found'],
  [{ namespace: 'other', apiKey: undefined }, 404, 'model_not_found'],
  [{ body: { messages: 'no list' }, dialect: 'messages' }, 400, 'invalid_parameter'],
])('a plan for %j has the refusal that the request would get', async (more, status, code) => {
  await start([{}], (table) => ({
    ...table,
    keys: [
      ...table.keys,
      keyEntry(`${testKey}2`, 'other/key'),
      { ...keyEntry(`${testKey}3`, 'team/old'), notAfterMs: 1 },
      { ...keyEntry(`${testKey}4`, 'team/narrow'), models: { allow: ['a*'], deny: [] } },
    ],
  }));
  const plan = await planOf(more);
  expect(plan.refusal).toMatchObject({ status, code });
  expect(plan.targets.every(({ state }) => state === 'wouldBeSkipped')).toBe(true);
});

test('without an ApiKey, a plan is that of any caller of the namespace', async () => {
  await start([{}]);
  expect((await planOf({ apiKey: undefined })).targets[0]?.state).toBe('wouldBeTried');
});

test('fifty plans and catalogs change nothing in a gateway', async () => {
  const limits = { requestsPerMinute: 1, tokensPerMinute: 5_000, maxConcurrentRequests: 1 };
  await start([{ keys: { a: 'A' }, providerEntry: { limits } }, {}], (table) => ({
    ...table,
    routes: table.routes.map((route) => ({ ...route, limits })),
  }));
  const counted = async () => {
    const text = await rig.gateway.metrics.registry.metrics();
    return text.split('\n').filter((line) => /^penstock_(?!heap_share )/.test(line));
  };
  const before = await counted();
  for (let at = 0; at < 50; at++) {
    await planOf({ dialect: at % 2 === 0 ? 'chat' : 'messages' });
    await ask(CATALOG_PATH, { namespace: 'team' });
  }
  expect(await counted()).toEqual(before);
  expect([rig.records, wall.calls, rig.failures]).toEqual([[], [], []]);
  expect((await post(rig, '/v1/chat/completions', chat)).status).toBe(200);
});

describe('a catalog', () => {
  test('has the models that GET /v1/models shows to the key, with the verdict of each dialect', async () => {
    await start([{ name: 'a' }, { name: 'b', dialects: ['anthropic-messages'] }], (table) => ({
      ...table,
      routes: table.routes.flatMap((route) => [
        route,
        { ...route, id: 'team/own', model: 'own', endpoints: ['openai-chat'], capabilities: [] },
        { ...route, id: 'team/hidden', model: 'hidden', visibility: 'Hidden' },
      ]),
    }));
    const { status, json } = await ask(CATALOG_PATH, { namespace: 'team', apiKey: 'key' });
    const catalog = catalogAnswerSchema.parse(json);
    const list = (await get(rig, '/v1/models', bearer)).json as { data: unknown[] };
    expect([status, catalog.generation]).toEqual([200, 1]);
    expect(catalog.models.map(({ own: _, dialects: __, ...model }) => model)).toEqual(list.data);
    expect(catalog.models.map(({ dialects }) => dialects)).toEqual([
      {
        chat: { verdict: 'translated', lostFields: [] },
        messages: { verdict: 'translated', lostFields: [] },
        responses: { verdict: 'translated', lostFields: [] },
        completions: { verdict: 'translated', lostFields: [] },
      },
      {
        chat: { verdict: 'translated', lostFields: [] },
        messages: { verdict: 'impossible', lostFields: [] },
        responses: { verdict: 'impossible', lostFields: [] },
        completions: { verdict: 'impossible', lostFields: [] },
      },
    ]);
    expect(catalog.models.map(({ own }) => own)).toEqual([false, false]);
  });

  test('of an unknown key is an error that says so', async () => {
    await start([{}]);
    const { status, json } = await ask(CATALOG_PATH, { namespace: 'team', apiKey: 'nobody' });
    expect([status, json]).toEqual([404, { error: expect.stringContaining("'team/nobody'") }]);
  });
});

describe('a wrong call of the plan', () => {
  test('without the token gets 401', async () => {
    await start([{}]);
    for (const path of [PLAN_PATH, CATALOG_PATH]) expect((await ask(path, question, 'x')).status).toBe(401);
  });

  test.each([
    [PLAN_PATH, { ...question, dialect: 'french' }, 400, /^dialect: must be chat, messages/],
    [PLAN_PATH, { ...question, colour: 'red' }, 400, /colour/],
    [PLAN_PATH, { ...question, body: { text: 'x'.repeat(65_536) } }, 413, /larger than 65536 bytes/],
    [PLAN_PATH, '{', 400, /not valid JSON/],
    [CATALOG_PATH, { namespace: '' }, 400, /^namespace: must not be empty/],
  ])('%s with a wrong member gets an error that names it', async (path, body, status, message) => {
    await start([{}]);
    const answer = await ask(path, body);
    expect([answer.status, answer.json]).toEqual([status, { error: expect.stringMatching(message) }]);
  });
});
