// GET /v1/models: who sees which models, in one body that OpenAI and Anthropic clients both read, at which price.
// (The service's specification, "GET /models"; OpenAI API reference, "List models"; Anthropic API reference, "List Models".)

import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { KeyEntry, Price, RouteEntry, RoutingTable } from '../../../core/contract/routing-table.ts';
import { openModelList } from '../../../gateway/endpoints/models.ts';
import { keyEntry, type Rig, type RigTarget, startRig, tableOf, testKey } from '../rig.ts';
import { bearer, errorOf, get, messagesErrorOf, portOf, post, recordOf, recordsOf } from './ask.ts';

const otherKey = `psk_${'o'.repeat(49)}`;
const strangerKey = `psk_${'s'.repeat(49)}`;
const emptyTable: RoutingTable = { ...tableOf([]), routes: [] };
const nowhere = 'http://127.0.0.1:9/v1';
const oneAttempt: RouteEntry['failover'] = {
  retryOn: [],
  maxAttempts: 1,
  attemptsPerTarget: 1,
  backoffBaseMs: 1,
  backoffMaxMs: 1,
  honorRetryAfter: false,
};

/** A route with targets of its own, to be put together with others in one table. */
interface RouteWish extends Partial<RouteEntry> {
  readonly id: string;
  readonly model: string;
}

function tableWith(
  wishes: readonly (RouteWish & { readonly wish?: readonly Partial<RigTarget>[] })[],
  keys: readonly KeyEntry[] = [keyEntry(testKey, 'team/key'), keyEntry(otherKey, 'other/key')],
): RoutingTable {
  const parts = wishes.map(({ wish = [{}], ...route }, at) =>
    tableOf(
      wish.map((target, index) => ({ baseUrl: nowhere, provider: `platform/p${at}-${index}`, ...target })),
      route,
    ),
  );
  return {
    ...emptyTable,
    providers: parts.flatMap(({ providers }) => providers),
    routes: parts.flatMap(({ routes }) => routes),
    keys: [...keys],
  };
}

let rig: Rig;

beforeAll(async () => {
  rig = await startRig(emptyTable);
});

afterEach(() => rig.offer(emptyTable));
afterAll(() => rig.close());

const withKey = (key: string): Record<string, string> => ({ authorization: `Bearer ${key}` });

async function idsFor(headers: Record<string, string>): Promise<unknown[]> {
  const answer = await get(rig, '/v1/models', headers);
  expect(answer.status).toBe(200);
  return recordsOf(recordOf(answer.json).data).map(({ id }) => id);
}

async function onlyModel(headers: Record<string, string> = bearer): Promise<Record<string, unknown>> {
  const [model] = recordsOf(recordOf((await get(rig, '/v1/models', headers)).json).data);
  if (!model) throw new Error('The list is empty');
  return model;
}

/** One route for each case of the table below, in one table. */
const catalogue: readonly (RouteWish & { readonly wish?: readonly Partial<RigTarget>[] })[] = [
  { id: 'platform/public', model: 'penstock/public', visibility: 'Public', sharedWith: '*' },
  { id: 'platform/listed-all', model: 'penstock/listed-all', visibility: 'Listed', sharedWith: '*' },
  { id: 'platform/hidden-all', model: 'penstock/hidden-all', visibility: 'Hidden', sharedWith: '*' },
  { id: 'platform/for-team', model: 'penstock/for-team', visibility: 'Listed', sharedWith: ['team'] },
  { id: 'platform/own-only', model: 'penstock/own-only', visibility: 'Listed', sharedWith: [] },
  { id: 'team/mine', model: 'mine', visibility: 'Listed', sharedWith: [] },
  { id: 'team/secret', model: 'secret', visibility: 'Hidden', sharedWith: [] },
  { id: 'team/shared', model: 'shared', visibility: 'Listed', sharedWith: ['other'] },
  { id: 'other/theirs', model: 'theirs', visibility: 'Listed', sharedWith: [] },
  { id: 'other/public', model: 'penstock/public', visibility: 'Listed', sharedWith: [] },
];

describe('models by caller', () => {
  const callers = [
    ['nobody', {}, ['penstock/public']],
    [
      'team',
      withKey(testKey),
      ['penstock/public', 'penstock/listed-all', 'penstock/for-team', 'mine', 'shared'],
    ],
    ['other', withKey(otherKey), ['penstock/listed-all', 'shared', 'theirs', 'penstock/public']],
  ] as const;

  test.each(callers)('%s: the list', async (_name, headers, ids) => {
    rig.offer(tableWith(catalogue));
    expect(await idsFor(headers)).toEqual(ids);
  });

  test.each(callers)(
    '%s: one by one, exactly the models of the list can be retrieved',
    async (_name, headers, ids) => {
      rig.offer(tableWith(catalogue));
      for (const { model } of catalogue) {
        const answer = await get(rig, `/v1/models/${encodeURIComponent(model)}`, headers);
        const isListed = ids.some((id) => id === model);
        expect([model, answer.status]).toEqual([model, isListed ? 200 : 404]);
        if (!isListed) expect(errorOf(answer)).toMatchObject({ code: 'model_not_found', param: 'model' });
      }
    },
  );

  test('a hidden model and a model of another tenant get the same error as an unknown one', async () => {
    rig.offer(tableWith(catalogue));
    for (const id of ['secret', 'theirs', 'penstock/own-only', 'no-such-model']) {
      const { message } = errorOf(await get(rig, `/v1/models/${id}`, bearer));
      expect(message.replace(id, 'X')).toBe(
        "The model 'X' does not exist, or this key may not use it. GET /v1/models lists the models of this key.",
      );
    }
  });

  test("a tenant's own model hides a shared one of the same name, for that tenant", async () => {
    rig.offer(tableWith(catalogue));
    const seenBy = async (headers: Record<string, string>): Promise<unknown> =>
      recordOf((await get(rig, '/v1/models/penstock/public', headers)).json).owned_by;
    rig.offer(tableWith(catalogue.map((route) => ({ ...route, ownedBy: route.id.split('/')[0] ?? '' }))));
    expect([await seenBy({}), await seenBy(withKey(testKey)), await seenBy(withKey(otherKey))]).toEqual([
      'platform',
      'platform',
      'other',
    ]);
  });

  test.each([
    ['nothing', undefined, ['a', 'b/1', 'b/2', 'c']],
    ['empty lists', { allow: [], deny: [] }, ['a', 'b/1', 'b/2', 'c']],
    ['an exact id', { allow: ['a'], deny: [] }, ['a']],
    ['a prefix', { allow: ['b/*'], deny: [] }, ['b/1', 'b/2']],
    ['everything but', { allow: ['*'], deny: ['b/1'] }, ['a', 'b/2', 'c']],
    ['a denied prefix wins over an allowed id', { allow: ['b/2', 'a'], deny: ['b/*'] }, ['a']],
    ['a deny list alone', { allow: [], deny: ['b/*', 'a'] }, ['c']],
    ['an alias represents its model', { allow: ['claude-c'], deny: [] }, ['c']],
    ['a denied alias too', { allow: [], deny: ['claude-*'] }, ['a', 'b/1', 'b/2']],
    ['a star inside is no pattern', { allow: ['*/1'], deny: [] }, []],
  ])('a key that allows %s', async (_name, models, ids) => {
    const routes = ['a', 'b/1', 'b/2', 'c'].map((model, at) => ({
      id: `team/r${at}`,
      model,
      ...(model === 'c' ? { aliases: ['claude-c'] } : {}),
      // Nobody is there to answer; once is enough to find out.
      failover: oneAttempt,
    }));
    rig.offer(tableWith(routes, [{ ...keyEntry(testKey, 'team/key'), ...(models ? { models } : {}) }]));
    expect(await idsFor(bearer)).toEqual(ids);
    // What is not in the list cannot be asked either.
    for (const { model } of routes) {
      const body = { model, messages: [{ role: 'user', content: 'three plain words' }] };
      const { code } = errorOf(await post(rig, '/v1/chat/completions', body));
      expect([model, code === 'model_not_found']).toEqual([model, !ids.includes(model)]);
    }
  });

  test('the list follows the table in use', async () => {
    rig.offer(tableWith([{ id: 'team/a', model: 'a' }]));
    expect(await idsFor(bearer)).toEqual(['a']);
    rig.offer(tableWith([{ id: 'team/b', model: 'b' }]));
    const answer = await get(rig, '/v1/models', bearer);
    expect(recordsOf(recordOf(answer.json).data)[0]?.id).toBe('b');
    expect(answer.headers['x-penstock-generation']).toBe(String(rig.holder.current()?.generation));
  });
});

describe('with and without a key', () => {
  test.each([
    ['an unknown key', withKey(strangerKey)],
    ['a malformed key', withKey('psk_short')],
    ['another scheme', { authorization: 'Basic dXNlcjpwYXNz' }],
    ['an empty header', { authorization: '' }],
    ['an unknown x-api-key', { 'x-api-key': strangerKey }],
  ])('%s is refused with 401, and not treated as no key', async (_name, headers) => {
    rig.offer(tableWith(catalogue));
    for (const path of ['/v1/models', '/v1/models/penstock/public']) {
      const answer = await get(rig, path, headers);
      expect(answer.status).toBe(401);
      expect(errorOf(answer)).toMatchObject({ type: 'invalid_request_error', code: 'invalid_api_key' });
      expect(answer.headers).toMatchObject({ 'www-authenticate': 'Bearer', 'x-should-retry': 'false' });
    }
  });

  test('x-api-key counts if there is no Authorization', async () => {
    rig.offer(tableWith(catalogue));
    expect(await idsFor({ 'x-api-key': otherKey })).toContain('theirs');
  });

  test('a list for a key is private and never stored; no list is ever stored', async () => {
    expect((await get(rig, '/v1/models', bearer)).headers['cache-control']).toBe('private, no-store');
    const { headers } = await get(rig, '/v1/models');
    expect(headers['cache-control']).toBe('no-store');
    expect(headers.vary?.toLowerCase()).toBe('authorization, x-api-key');
  });
});

describe('pages, as Anthropic has them', () => {
  const models = ['a', 'b', 'c', 'd', 'team/e'];
  const offer = () =>
    rig.offer(
      tableWith(
        models.map((model, at) => ({ id: `team/r${at}`, model, visibility: 'Public', sharedWith: '*' })),
      ),
    );

  test.each([
    ['limit=2', ['a', 'b'], true],
    ['limit=5', models, false],
    ['limit=1000', models, false],
    ['limit=2&after_id=b', ['c', 'd'], true],
    ['limit=2&after_id=c', ['d', 'team/e'], false],
    ['after_id=b', ['c', 'd', 'team/e'], false],
    ['limit=2&after_id=team%2Fe', [], false],
    ['limit=2&before_id=d', ['b', 'c'], true],
    ['limit=2&before_id=c', ['a', 'b'], false],
    ['before_id=team/e', ['a', 'b', 'c', 'd'], false],
    ['before_id=a', [], false],
    ['limit=&after_id=', models, false],
    ['lifecycle=active', models, false],
  ])('?%s', async (query, ids, hasMore) => {
    offer();
    for (const headers of [{}, bearer]) {
      const { status, json } = await get(rig, `/v1/models?${query}`, headers);
      const { data, ...envelope } = recordOf(json);
      expect(status).toBe(200);
      expect(recordsOf(data).map(({ id }) => id)).toEqual(ids);
      expect(envelope).toEqual({
        object: 'list',
        has_more: hasMore,
        first_id: ids[0] ?? null,
        last_id: ids.at(-1) ?? null,
      });
    }
  });

  test('a loop that asks for the next page ends', async () => {
    offer();
    for (const limit of ['', '&limit=1', '&limit=3']) {
      const seen: unknown[] = [];
      for (let after = ''; seen.length <= models.length; ) {
        const { json } = await get(rig, `/v1/models?after_id=${encodeURIComponent(after)}${limit}`, bearer);
        const { data, last_id } = recordOf(json);
        const page = recordsOf(data);
        if (page.length === 0) break;
        seen.push(...page.map(({ id }) => id));
        after = String(last_id);
      }
      expect(seen).toEqual(models);
    }
  });

  test("Anthropic's SDK goes through all pages, and OpenAI's has the whole list", async () => {
    offer();
    const openai = new OpenAI({ apiKey: testKey, baseURL: rig.baseUrl, maxRetries: 0 });
    const anthropic = new Anthropic({ authToken: testKey, apiKey: null, baseURL: rig.url, maxRetries: 0 });
    for (const page of [{ limit: 2 }, { limit: 2, after_id: 'a' }, {}]) {
      const ids: string[] = [];
      for await (const { id } of anthropic.models.list(page)) ids.push(id);
      expect(ids).toEqual(page.after_id === undefined ? models : models.slice(1));
    }
    const ids: string[] = [];
    for await (const { id } of openai.models.list()) ids.push(id);
    expect(ids).toEqual(models);
  });

  test.each([
    ['limit=0', 'limit', 'limit must be a whole number from 1 to 1000.'],
    ['limit=1001', 'limit', 'limit must be a whole number from 1 to 1000.'],
    ['limit=all', 'limit', 'limit must be a whole number from 1 to 1000.'],
    ['after_id=gone', 'after_id', "The list has no model 'gone'. Begin again without after_id."],
    ['limit=1&before_id=gone', 'before_id', "The list has no model 'gone'. Begin again without before_id."],
    ['after_id=a&before_id=c', 'before_id', 'after_id and before_id cannot be combined. Send one of them.'],
  ])('?%s is 400, in the words of what is wrong', async (query, param, message) => {
    offer();
    const answer = await get(rig, `/v1/models?${query}`, bearer);
    expect([answer.status, errorOf(answer)]).toEqual([
      400,
      { message, type: 'invalid_request_error', code: 'invalid_parameter', param },
    ]);
  });

  test('a model of another tenant is not accepted as a cursor', async () => {
    rig.offer(tableWith(catalogue));
    expect((await get(rig, '/v1/models?after_id=theirs', bearer)).status).toBe(400);
  });

  test('a wrong key is 401, whatever the page', async () => {
    expect((await get(rig, '/v1/models?limit=0', withKey(strangerKey))).status).toBe(401);
  });
});

describe('the body', () => {
  const full: RouteWish = {
    id: 'team/claude',
    model: 'acme/claude-x',
    aliases: ['claude-x'],
    ownedBy: 'acme',
    displayName: 'Claude X',
    description: 'For long texts.',
    createdAt: 1_700_000_000,
    capabilities: ['Streaming', 'Tools', 'Reasoning', 'PromptCaching', 'Vision'],
    contextLength: 200_000,
    maxOutputTokens: 8_192,
  };

  test('has the members of both list dialects', async () => {
    rig.offer(tableWith([full, { id: 'team/z', model: 'z' }]));
    const { json, headers } = await get(rig, '/v1/models?limit=1000', bearer);
    const { data, ...envelope } = recordOf(json);
    expect(headers['content-type']).toMatch(/^application\/json/);
    expect(envelope).toEqual({ object: 'list', has_more: false, first_id: 'acme/claude-x', last_id: 'z' });
    expect(recordsOf(data)[0]).toEqual({
      id: 'acme/claude-x',
      object: 'model',
      created: 1_700_000_000,
      owned_by: 'acme',
      type: 'model',
      display_name: 'Claude X',
      created_at: '2023-11-14T22:13:20.000Z',
      description: 'For long texts.',
      pricing: { prompt: '0.000001', completion: '0.000002' },
      context_length: 200_000,
      max_completion_tokens: 8_192,
      supported_parameters: [
        ...['max_tokens', 'temperature', 'top_p', 'stop', 'stream', 'stream_options'],
        ...['tools', 'tool_choice', 'parallel_tool_calls', 'reasoning_effort', 'prompt_cache_key'],
      ],
    });
  });

  test('has null for unknown values', async () => {
    rig.offer(tableWith([{ id: 'team/z', model: 'z' }]));
    const model = await onlyModel();
    expect(model).toMatchObject({ display_name: 'z', context_length: null, max_completion_tokens: null });
    expect(model).not.toHaveProperty('description');
  });

  test('of an empty list names no first and no last', async () => {
    const { json } = await get(rig, '/v1/models', bearer);
    expect(json).toEqual({ object: 'list', data: [], has_more: false, first_id: null, last_id: null });
  });

  test('is read by the official SDKs of both dialects, list and retrieve', async () => {
    rig.offer(tableWith([full]));
    const openai = new OpenAI({ apiKey: testKey, baseURL: rig.baseUrl, maxRetries: 0 });
    const anthropic = new Anthropic({ authToken: testKey, apiKey: null, baseURL: rig.url, maxRetries: 0 });
    const ids: string[] = [];
    for await (const { id, created, owned_by } of openai.models.list())
      ids.push(`${id} ${created} ${owned_by}`);
    for await (const { id, created_at, display_name } of anthropic.models.list())
      ids.push(`${id} ${created_at} ${display_name}`);
    ids.push((await openai.models.retrieve('acme/claude-x')).id);
    ids.push((await anthropic.models.retrieve('acme/claude-x')).display_name);
    expect(ids).toEqual([
      'acme/claude-x 1700000000 acme',
      'acme/claude-x 2023-11-14T22:13:20.000Z Claude X',
      'acme/claude-x',
      'Claude X',
    ]);
  });

  test.each(['/v1/models/acme/claude-x', '/v1/models/acme%2Fclaude-x', '/v1/models/acme%2fclaude-x?x=1'])(
    '%s is one model, slashes encoded or not',
    async (path) => {
      rig.offer(tableWith([full]));
      const answer = await get(rig, path, bearer);
      expect(answer.status).toBe(200);
      expect(answer.json).toEqual(await onlyModel());
    },
  );

  test('an alias is retrieved under its own name', async () => {
    rig.offer(tableWith([full]));
    expect((await get(rig, '/v1/models/claude-x', bearer)).json).toEqual({
      ...(await onlyModel()),
      id: 'claude-x',
    });
  });

  test('ids with odd characters come through the path unharmed', async () => {
    const ids = ['a%b', 'a b', 'ü/😀', 'a%2Fb', 'a?b#c', '__proto__', 'x'.repeat(500)];
    rig.offer(tableWith(ids.map((model, at) => ({ id: `team/r${at}`, model }))));
    for (const id of ids) {
      const answer = await get(rig, `/v1/models/${encodeURIComponent(id)}`, bearer);
      expect([answer.status, recordOf(answer.json).id]).toEqual([200, id]);
    }
  });

  test('HEAD is answered without a body', async () => {
    const response = await fetch(`http://127.0.0.1:${portOf(rig)}/v1/models`, { method: 'HEAD' });
    expect(response.status).toBe(200);
    expect(Number(response.headers.get('content-length'))).toBeGreaterThan(0);
    expect(await response.text()).toBe('');
  });

  test('an error to an Anthropic client has its shape', async () => {
    const answer = await get(rig, '/v1/models/none', { ...bearer, 'anthropic-version': '2023-06-01' });
    expect(answer.status).toBe(404);
    expect(messagesErrorOf(answer)).toMatchObject({
      error: { type: 'not_found_error', code: 'model_not_found' },
      request_id: answer.headers['request-id'],
    });
  });
});

describe('the price', () => {
  const price = (more: Partial<Price>): Price => ({ input: 0, output: 0, source: 'target', ...more });

  test.each([
    ['0', 0],
    ['0.000000000001', 1],
    ['0.00000015', 150_000],
    ['0.000003', 3_000_000],
    ['0.000075', 75_000_000],
    ['1', 1_000_000_000_000],
    ['12.5', 12_500_000_000_000],
  ])('%s is %i picodollars a token', async (text, picodollars) => {
    const wish = [{ price: price({ input: picodollars }) }];
    rig.offer(tableWith([{ id: 'team/a', model: 'a', wish }]));
    expect((await onlyModel()).pricing).toEqual({ prompt: text, completion: '0' });
  });

  test('is the highest of the targets, for each kind on its own', async () => {
    const wish = [
      { price: price({ input: 3_000_000, output: 1_000_000, cachedInput: 300_000 }) },
      {
        price: price({
          input: 1_000_000,
          output: 9_000_000,
          cacheWrite: 4_000_000,
          perRequest: 5_000_000_000,
        }),
      },
    ];
    rig.offer(tableWith([{ id: 'team/a', model: 'a', wish }]));
    expect((await onlyModel()).pricing).toEqual({
      prompt: '0.000003',
      completion: '0.000009',
      // The second target has no price for cached tokens: they cost what input costs there.
      input_cache_read: '0.000001',
      input_cache_write: '0.000004',
      request: '0.005',
    });
  });

  test('for a longer input is beside it, the highest of the targets above each bound', async () => {
    const wish = [
      {
        price: price({
          input: 3_000_000,
          output: 15_000_000,
          cachedInput: 300_000,
          tiers: [{ aboveInputTokens: 200_000, input: 6_000_000, output: 22_500_000, cachedInput: 600_000 }],
        }),
      },
      {
        price: price({
          input: 4_000_000,
          output: 10_000_000,
          tiers: [
            { aboveInputTokens: 500_000, output: 30_000_000 },
            { aboveInputTokens: 100_000, input: 5_000_000 },
          ],
        }),
      },
    ];
    rig.offer(tableWith([{ id: 'team/a', model: 'a', wish }]));
    expect((await onlyModel()).pricing).toEqual({
      prompt: '0.000004',
      completion: '0.000015',
      input_cache_read: '0.000004',
      tiers: [
        { above: 100_000, prompt: '0.000005', completion: '0.000015', input_cache_read: '0.000005' },
        { above: 200_000, prompt: '0.000006', completion: '0.0000225', input_cache_read: '0.000005' },
        { above: 500_000, prompt: '0.000006', completion: '0.00003', input_cache_read: '0.000004' },
      ],
    });
  });

  test.each([
    ['dearer than other output', { reasoning: 20_000_000 }, { internal_reasoning: '0.00002' }],
    ['as dear', { reasoning: 15_000_000 }, {}],
    ['cheaper', { reasoning: 1_000_000 }, {}],
  ])('of reasoning is shown if it is higher than of other output: %s', async (_, more, wanted) => {
    const wish = [{ price: price({ output: 15_000_000, ...more }) }];
    rig.offer(tableWith([{ id: 'team/a', model: 'a', wish }]));
    expect((await onlyModel()).pricing).toEqual({ prompt: '0', completion: '0.000015', ...wanted });
  });

  test.each([
    ['dearer', { cacheWriteHour: 6_000_000 }, { input_cache_write_1h: '0.000006' }],
    ['as dear', { cacheWriteHour: 3_750_000 }, {}],
    ['not stated', {}, {}],
  ])("of an hour's cache is shown if it is higher than of other writes: %s", async (_, more, wanted) => {
    const wish = [{ price: price({ input: 3_000_000, cacheWrite: 3_750_000, ...more }) }];
    rig.offer(tableWith([{ id: 'team/a', model: 'a', wish }]));
    expect((await onlyModel()).pricing).toEqual({
      ...{ prompt: '0.000003', completion: '0', input_cache_write: '0.00000375' },
      ...wanted,
    });
  });

  test('0 of provisioned capacity is marked, unless another target costs something', async () => {
    const provisioned = { price: price({ source: 'provisioned' }) };
    rig.offer(tableWith([{ id: 'team/a', model: 'a', wish: [provisioned] }]));
    expect((await onlyModel()).pricing).toEqual({ prompt: '0', completion: '0', provisioned: true });
    const wish = [provisioned, { price: price({ input: 3_000_000 }) }];
    rig.offer(tableWith([{ id: 'team/a', model: 'a', wish }]));
    expect((await onlyModel()).pricing).toEqual({ prompt: '0.000003', completion: '0' });
  });

  test('is null if one target has no price: that target might be the dearest', async () => {
    const wish = [{ price: price({ input: 3_000_000 }) }, { price: null }];
    rig.offer(tableWith([{ id: 'team/a', model: 'a', wish }]));
    expect((await onlyModel()).pricing).toBeNull();
  });

  test('is the highest of the used targets if the route denies unpriced ones', async () => {
    const wish = [{ price: price({ input: 3_000_000 }) }, { price: null }];
    rig.offer(tableWith([{ id: 'team/a', model: 'a', unpriced: 'Deny', wish }]));
    expect((await onlyModel()).pricing).toEqual({ prompt: '0.000003', completion: '0' });
    rig.offer(tableWith([{ id: 'team/a', model: 'a', unpriced: 'Deny', wish: wish.slice(1) }]));
    expect((await onlyModel()).pricing).toBeNull();
  });

  const zeros = {
    prompt: '0',
    completion: '0',
    input_cache_read: '0',
    input_cache_write: '0',
    request: '0',
  };
  const own = {
    provider: 'team/own',
    price: price({ input: 3_000_000 }),
    providerEntry: { isPlatform: false },
  };

  test("is zero for a tenant's own provider, priced or not", async () => {
    const wish = [own, { ...own, provider: 'team/own-2', price: null }];
    rig.offer(tableWith([{ id: 'team/a', model: 'a', wish }]));
    expect((await onlyModel()).pricing).toEqual(zeros);
  });

  test.each([3_000_000, null])(
    "is that of the platform's where only some targets are the tenant's own, whatever those have (%s)",
    async (input) => {
      const ofOwn = input === null ? null : price({ input });
      const wish = [{ ...own, price: ofOwn }, { price: price({ input: 1_000_000 }) }];
      rig.offer(tableWith([{ id: 'team/a', model: 'a', wish }]));
      expect((await onlyModel()).pricing).toEqual({ prompt: '0.000001', completion: '0' });
    },
  );

  test('is not zero for the tenants to which such a model is shared', async () => {
    rig.offer(tableWith([{ id: 'team/a', model: 'a', sharedWith: ['other'], wish: [own] }]));
    expect((await onlyModel(withKey(otherKey))).pricing).toEqual({ prompt: '0.000003', completion: '0' });
  });
});

test('the list without a key is made once for each table, so that asking for it is cheap', async () => {
  const list = openModelList();
  const inUse = (): NonNullable<ReturnType<Rig['holder']['current']>> => {
    const view = rig.holder.current();
    if (!view) throw new Error('there is no table');
    return view;
  };
  rig.offer(tableWith([{ id: 'a/x', model: 'x', visibility: 'Public', sharedWith: '*' }]));
  const before = inUse();
  expect(list(before, undefined)).toBe(list(before, undefined));
  const { text } = await get(rig, '/v1/models');
  expect([text, (await get(rig, '/v1/models')).text]).toEqual([list(before, undefined).toString(), text]);
  rig.offer(tableWith([{ id: 'a/y', model: 'y', visibility: 'Public', sharedWith: '*' }]));
  expect(await idsFor({})).toEqual(['y']);
  expect(list(inUse(), undefined)).not.toBe(list(before, undefined));
});
