// What does a caller of a key or a model with limits see? Real sockets, all dialects, and what the official SDKs make of a refusal.

import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { RateLimits } from '../../../core/contract/routing-table.ts';
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

interface Limited {
  readonly key?: RateLimits;
  readonly route?: RateLimits;
  readonly provider?: RateLimits;
}

async function start({ key, route, provider }: Limited): Promise<void> {
  const table = tableOf([{ baseUrl: wall.baseUrl, providerEntry: provider ? { limits: provider } : {} }]);
  rig = await startRig({
    ...table,
    routes: table.routes.map((entry) => ({ ...entry, ...(route ? { limits: route } : {}) })),
    keys: table.keys.map((entry) => ({ ...entry, ...(key ? { limits: key } : {}) })),
  });
}

const ask = (path: Path = '/v1/chat/completions', more: object = {}) =>
  post(rig, path, { ...dialects[path], ...more });

async function heldOf(): Promise<string | undefined> {
  const text = await rig.gateway.metrics.registry.metrics();
  return /^penstock_limits_held (\d+)$/m.exec(text)?.[1];
}

test('limits_unavailable: with onStoreError Deny, limited requests get the error while the store is away', async () => {
  const table = tableOf([{ baseUrl: wall.baseUrl }]);
  const limited = table.keys.map((entry) => ({ ...entry, limits: { requestsPerMinute: 5 } }));
  // Nobody answers there.
  const store = { url: 'redis://127.0.0.1:9', prefix: 'test', password: undefined };
  rig = await startRig(
    { ...table, keys: limited },
    { limits: { store, callBudgetMs: 100, onStoreError: 'Deny', gateways: 1 } },
  );
  for (const path of paths) {
    const answer = await ask(path);
    expect([answer.status, answer.headers['retry-after']]).toEqual([503, '1']);
    if (path !== '/v1/messages') expect(errorOf(answer).code).toBe('limits_unavailable');
  }
  expect(wall.calls).toEqual([]);
});

describe.each(paths)('%s', (path) => {
  test('is served up to the limit of its key, with headers; then the error names the limit and when to retry', async () => {
    await start({ key: { requestsPerMinute: 2, tokensPerMinute: 1_000 }, route: { requestsPerMinute: 50 } });
    const first = await ask(path);
    expect(first.status).toBe(200);
    expect(first.headers).toMatchObject({
      'x-ratelimit-limit-requests': '2',
      'x-ratelimit-remaining-requests': '1',
      'x-ratelimit-reset-requests': '30s',
      'x-ratelimit-limit-tokens': '1000',
      'x-ratelimit-remaining-tokens': expect.stringMatching(/^9[3-7]\d$/),
      'x-ratelimit-reset-tokens': expect.stringMatching(/^[2-4]s$/),
    });
    const isMessages = path === '/v1/messages';
    expect(
      Object.keys(first.headers)
        .filter((name) => name.startsWith('anthropic-'))
        .toSorted(),
    ).toEqual(
      isMessages
        ? ['requests', 'tokens'].flatMap((name) =>
            ['limit', 'remaining', 'reset'].map((what) => `anthropic-ratelimit-${name}-${what}`),
          )
        : [],
    );
    if (isMessages) {
      const resetMs = Date.parse(String(first.headers['anthropic-ratelimit-requests-reset'])) - Date.now();
      expect(resetMs).toBeGreaterThan(25_000);
      expect(resetMs).toBeLessThan(32_000);
    }
    // A stream has the same headers.
    const second = await ask(path, { stream: true });
    expect([second.status, second.headers['x-ratelimit-remaining-requests']]).toEqual([200, '0']);
    const third = await ask(path);
    expect([
      third.status,
      third.headers['retry-after'],
      third.headers['x-ratelimit-remaining-requests'],
    ]).toEqual([429, '30', '0']);
    expect(third.headers['x-should-retry']).toBeUndefined();
    const { message, type, code } = isMessages ? messagesErrorOf(third).error : errorOf(third);
    expect([type, code]).toEqual(['rate_limit_error', 'rate_limit_exceeded']);
    expect(message).toBe(
      'This API key has used up its limit of 2 requests per minute. Please try again in 30s.',
    );
    expect(wall.calls).toHaveLength(2);
    expect(await heldOf()).toBe('0');
  });
});

test('the official SDKs get a rate limit error', async () => {
  await start({ key: { requestsPerMinute: 1 } });
  expect((await ask()).status).toBe(200);
  const openai = new OpenAI({ apiKey: testKey, baseURL: rig.baseUrl, maxRetries: 0 });
  const anthropic = new Anthropic({ apiKey: testKey, baseURL: rig.url, maxRetries: 0 });
  const user = [{ role: 'user' as const, content: 'hi' }];
  await expect(openai.chat.completions.create({ model: 'm', messages: user })).rejects.toThrow(
    OpenAI.RateLimitError,
  );
  await expect(openai.responses.create({ model: 'm', input: 'hi' })).rejects.toThrow(OpenAI.RateLimitError);
  await expect(anthropic.messages.create({ model: 'm', max_tokens: 5, messages: user })).rejects.toThrow(
    Anthropic.RateLimitError,
  );
});

test('without limits no limit headers are sent', async () => {
  await start({});
  const { headers } = await ask();
  expect(Object.keys(headers).filter((name) => name.includes('ratelimit'))).toEqual([]);
});

test('the limit of a model holds for all of its callers, and is shown to callers without limits of their own', async () => {
  await start({ route: { requestsPerMinute: 1 } });
  expect((await ask()).headers['x-ratelimit-limit-requests']).toBe('1');
  const refused = await ask();
  expect([refused.status, errorOf(refused).message]).toEqual([
    429,
    "The model 'm' has used up its limit of 1 requests per minute. Please try again in 60s.",
  ]);
});

test('tokens are settled with the actual use, not with the estimate', async () => {
  await start({ key: { tokensPerMinute: 1_000 } });
  wall.script({ type: 'answer', usage: { inputTokens: 10, outputTokens: 40 } });
  // Each asks for nearly all of it.
  for (let index = 0; index < 5; index++) {
    const { status, headers } = await ask('/v1/chat/completions', { max_tokens: 700 });
    expect([index, status]).toEqual([index, 200]);
    expect(Number(headers['x-ratelimit-remaining-tokens'])).toBeLessThan(300);
  }
});

test('tokens used beyond the estimate delay the next request', async () => {
  await start({ key: { tokensPerMinute: 1_000 } });
  wall.script({ type: 'answer', usage: { inputTokens: 10, outputTokens: 2_000 } });
  expect((await ask()).status).toBe(200);
  const refused = await ask();
  expect([refused.status, refused.headers['retry-after']]).toEqual([429, '60']);
  expect(errorOf(refused).message).toMatch(
    /^This API key has used up its limit of 1000 tokens per minute\. Please try again in 6\ds\.$/,
  );
});

test('a request for more than the limit of a whole minute gets an error without Retry-After', async () => {
  await start({ key: { tokensPerMinute: 1_000 } });
  const refused = await ask('/v1/chat/completions', { max_tokens: 5_000 });
  expect([refused.status, refused.headers['retry-after'], refused.headers['x-should-retry']]).toEqual([
    429,
    undefined,
    'false',
  ]);
  expect(errorOf(refused).message).toMatch(
    /^Request too large: about 50\d\d tokens, .* This API key may use 1000 tokens per minute\. Send less/,
  );
  // What we only fear is no reason to refuse.
  const unbounded = await ask('/v1/chat/completions', { max_tokens: undefined });
  expect(unbounded.status).toBe(200);
});

test('counting tokens counts as a request, and as nothing else', async () => {
  await start({ key: { requestsPerMinute: 2, tokensPerMinute: 1, maxConcurrentRequests: 1 } });
  const count = () => post(rig, '/v1/messages/count_tokens', { model: 'm', messages: content });
  const first = await count();
  expect([first.status, first.headers['anthropic-ratelimit-requests-remaining']]).toEqual([200, '1']);
  expect(first.headers['anthropic-ratelimit-tokens-limit']).toBeUndefined();
  expect((await count()).status).toBe(200);
  const third = await count();
  expect([third.status, messagesErrorOf(third).error.type]).toEqual([429, 'rate_limit_error']);
});

test('a new key of the same ApiKey keeps its limits', async () => {
  const limits = { requestsPerMinute: 1 };
  const nextKey = `psk_${'n'.repeat(49)}`;
  const table = tableOf([{ baseUrl: wall.baseUrl }]);
  const keys = [testKey, nextKey].map((key) => ({ ...keyEntry(key, 'team/key'), limits }));
  rig = await startRig({ ...table, keys });
  expect((await ask()).status).toBe(200);
  const withNext = { authorization: `Bearer ${nextKey}` };
  expect((await post(rig, '/v1/messages', dialects['/v1/messages'], withNext)).status).toBe(429);
});

test('requests in flight stay within the maximum, and each that ends makes room', async () => {
  await start({ key: { maxConcurrentRequests: 2 } });
  wall.script({ type: 'hang', when: 'before-headers' });
  const hanging = [ask(), ask()];
  await wall.nextCall();
  await wall.nextCall();
  const refused = await ask();
  expect([refused.status, refused.headers['retry-after'], errorOf(refused).message]).toEqual([
    429,
    '1',
    'This API key has reached its limit of 2 requests at a time. Please try again in 1s.',
  ]);
  expect(await heldOf()).toBe('2');
  rig.gateway.hurry();
  await rig.close();
  await Promise.allSettled(hanging);
  expect(await heldOf()).toBe('0');
});

describe('a namespace with limits from the platform', () => {
  const otherKey = `psk_${'o'.repeat(49)}`;
  const neighbourKey = `psk_${'b'.repeat(49)}`;

  /** Two keys of `team`, and one of another namespace that may call its model. */
  async function startBounded(limits: RateLimits, { key, provider = 'platform/p0' }: BoundedParts = {}) {
    const table = tableOf([{ baseUrl: wall.baseUrl, provider }], { sharedWith: '*' });
    rig = await startRig({
      ...table,
      settings: { ...table.settings, tenantLimits: [{ namespace: 'team', limits }] },
      keys: [
        { ...keyEntry(testKey, 'team/key'), ...(key ? { limits: key } : {}) },
        keyEntry(otherKey, 'team/other'),
        keyEntry(neighbourKey, 'neighbour/key'),
      ].sort((a, b) => (a.sha256 < b.sha256 ? -1 : 1)),
    });
  }
  interface BoundedParts {
    readonly key?: RateLimits;
    readonly provider?: string;
  }
  const askAs = (key: string, more: object = {}, path: Path = '/v1/chat/completions') =>
    post(rig, path, { ...dialects[path], ...more }, { authorization: `Bearer ${key}` });

  test.each([
    ['a Provider of the platform', 'platform/p0'],
    ['a Provider of its own', 'team/own'],
  ])(
    'shares its requests per minute among its keys, also at %s; other namespaces are not limited by it',
    async (_, provider) => {
      await startBounded({ requestsPerMinute: 2 }, { provider });
      const first = await askAs(testKey);
      expect([first.status, first.headers['x-ratelimit-remaining-requests']]).toEqual([200, '1']);
      expect((await askAs(otherKey)).status).toBe(200);
      for (const key of [testKey, otherKey]) {
        const refused = await askAs(key);
        expect([refused.status, refused.headers['retry-after'], errorOf(refused).message]).toEqual([
          429,
          '30',
          "The namespace 'team' has used up its limit of 2 requests per minute. Please try again in 30s.",
        ]);
      }
      expect((await askAs(neighbourKey)).status).toBe(200);
      const text = await rig.gateway.metrics.registry.metrics();
      expect(text).toMatch(/^penstock_limited_total\{subject="tenant",limit="requests"\} 2$/m);
    },
  );

  test('shares its tokens per minute, and refuses one request that asks for more than all of them', async () => {
    await startBounded({ tokensPerMinute: 1_000 });
    wall.script({ type: 'answer', usage: { inputTokens: 10, outputTokens: 2_000 } });
    expect((await askAs(testKey)).status).toBe(200);
    const refused = await askAs(otherKey);
    expect([refused.status, errorOf(refused).message]).toEqual([
      429,
      expect.stringMatching(
        /^The namespace 'team' has used up its limit of 1000 tokens per minute\. Please try/,
      ),
    ]);
    expect(errorOf(await askAs(testKey, { max_tokens: 5_000 })).message).toMatch(
      / The namespace 'team' may use 1000 tokens per minute\. Send less/,
    );
  });

  test('has so many requests in flight at most, of all of its keys together', async () => {
    await startBounded({ maxConcurrentRequests: 2 });
    wall.script({ type: 'hang', when: 'before-headers' });
    const hanging = [askAs(testKey), askAs(otherKey)];
    await wall.nextCall();
    await wall.nextCall();
    const refused = await askAs(otherKey);
    expect([refused.status, errorOf(refused).message]).toEqual([
      429,
      "The namespace 'team' has reached its limit of 2 requests at a time. Please try again in 1s.",
    ]);
    wall.script({ type: 'answer' });
    expect((await askAs(neighbourKey)).status).toBe(200);
    rig.gateway.hurry();
    await rig.close();
    await Promise.allSettled(hanging);
    expect(await heldOf()).toBe('0');
  });

  test('cannot be widened by the limits that an ApiKey states for itself, which the headers show', async () => {
    await startBounded({ requestsPerMinute: 1 }, { key: { requestsPerMinute: 1_000_000 } });
    expect((await askAs(testKey)).headers['x-ratelimit-limit-requests']).toBe('1000000');
    expect((await askAs(testKey)).status).toBe(429);
  });

  test('is refused in the words of each dialect, also where it only counts tokens', async () => {
    await startBounded({ requestsPerMinute: 1 });
    expect((await askAs(testKey, {}, '/v1/messages')).headers['anthropic-ratelimit-requests-limit']).toBe(
      '1',
    );
    const refused = await askAs(testKey, {}, '/v1/messages');
    expect([refused.status, messagesErrorOf(refused).error.type]).toEqual([429, 'rate_limit_error']);
    const counted = await post(rig, '/v1/messages/count_tokens', { model: 'm', messages: content });
    expect(counted.status).toBe(429);
  });
});
