// What becomes of a request whose provider, or whose provider key, has no quota left? And does anything stay behind of a request,
// however it ends?

import { afterEach, describe, expect, test } from 'vitest';
import type { ProviderEntry, RateLimits, RoutingTable } from '../../../core/contract/routing-table.ts';
import type { GatewayOptions } from '../../../gateway/process/options.ts';
import { openRaw, writeRequest } from '../../support/raw-client.ts';
import { until } from '../../support/until.ts';
import { type Behaviour, startWall, type Wall } from '../../support/wall.ts';
import { bearer, errorOf, portOf, post } from '../endpoints/ask.ts';
import { type Rig, type RigTarget, startRig, tableOf } from '../rig.ts';

let parts = new AsyncDisposableStack();
afterEach(async () => {
  await parts.disposeAsync();
  parts = new AsyncDisposableStack();
});

async function wallOf(behaviour: Behaviour = { type: 'answer' }): Promise<Wall> {
  return parts.adopt(await startWall(behaviour), (wall) => wall.close());
}

async function rigOf(table: RoutingTable, options: Partial<GatewayOptions> = {}): Promise<Rig> {
  return parts.adopt(await startRig(table, options), (rig) => rig.close());
}

const body = { model: 'm', max_tokens: 50, messages: [{ role: 'user', content: 'three plain words' }] };
const ask = (rig: Rig, more: object = {}) => post(rig, '/v1/chat/completions', { ...body, ...more });

async function heldOf(rig: Rig): Promise<number> {
  const text = await rig.gateway.metrics.registry.metrics();
  return Number(/^penstock_limits_held (\d+)$/m.exec(text)?.[1]);
}

/** Keys `one` and `two`, of which the first is asked first. */
function twoKeys(limits: RateLimits): Pick<RigTarget, 'keys' | 'providerEntry'> {
  const key = (name: string, priority: number): ProviderEntry['keys'][number] => ({
    name,
    credential: `platform/p0/${name}`,
    weight: 1,
    priority,
  });
  return {
    keys: { one: 'secret-one', two: 'secret-two' },
    providerEntry: { keys: [{ ...key('one', 0), limits }, key('two', 1)] },
  };
}

const keysUsed = (rig: Rig) => rig.records.map(({ providerKey }) => providerKey);
const targetsUsed = (rig: Rig) => rig.records.map(({ target }) => target);

describe('during an outage of a store without which no limited request may pass', () => {
  // Nobody answers there.
  const store = { url: 'redis://127.0.0.1:9', prefix: 'test', password: undefined };
  const closed = { limits: { store, callBudgetMs: 100, onStoreError: 'Deny', gateways: 1 } } as const;
  const limited = { providerEntry: { limits: { requestsPerMinute: 5 } } };

  test('a provider with a quota is skipped, and a provider without one answers', async () => {
    const [first, second] = [await wallOf(), await wallOf()];
    const rig = await rigOf(
      tableOf([{ ...limited, baseUrl: first.baseUrl }, { baseUrl: second.baseUrl }]),
      closed,
    );
    expect((await ask(rig)).status).toBe(200);
    expect([first.calls.length, targetsUsed(rig)]).toEqual([0, ['t1']]);
  });

  test('the failure of the provider that could be asked is reported', async () => {
    const [first, second] = [await wallOf({ type: 'status', status: 501 }), await wallOf()];
    const rig = await rigOf(
      tableOf([{ baseUrl: first.baseUrl }, { ...limited, baseUrl: second.baseUrl }]),
      closed,
    );
    const answer = await ask(rig);
    expect([answer.status, errorOf(answer).code, second.calls.length]).toEqual([502, 'upstream_error', 0]);
  });

  test('the error names the store if there is no other provider', async () => {
    const wall = await wallOf();
    const rig = await rigOf(tableOf([{ ...limited, baseUrl: wall.baseUrl }]), closed);
    const answer = await ask(rig);
    expect([answer.status, errorOf(answer).code, answer.headers['retry-after']]).toEqual([
      503,
      'limits_unavailable',
      '1',
    ]);
    expect(wall.calls).toEqual([]);
  });
});

test('a key without requests left is skipped, like a key in cooldown', async () => {
  const wall = await wallOf();
  const rig = await rigOf(tableOf([{ baseUrl: wall.baseUrl, ...twoKeys({ requestsPerMinute: 2 }) }]));
  for (let index = 0; index < 4; index++) {
    const { status, headers } = await ask(rig);
    // It is no attempt.
    expect([status, headers['x-penstock-attempts']]).toEqual([200, '1']);
    // The quota of an upstream is nobody's business but ours.
    expect(Object.keys(headers).filter((name) => name.includes('ratelimit'))).toEqual([]);
  }
  expect(keysUsed(rig)).toEqual(['one', 'one', 'two', 'two']);
});

test('a key uses estimated tokens while a request is in flight, and actual tokens after its end', async () => {
  const wall = await wallOf({ type: 'answer', usage: { inputTokens: 10, outputTokens: 10 } });
  const rig = await rigOf(tableOf([{ baseUrl: wall.baseUrl, ...twoKeys({ tokensPerMinute: 110 }) }]));
  // Each is expected to use some 75.
  for (let index = 0; index < 3; index++) expect((await ask(rig)).status).toBe(200);
  expect(keysUsed(rig)).toEqual(['one', 'one', 'two']);
});

test('a key with its maximum of requests in flight leaves the next one to another key', async () => {
  const wall = await wallOf({ type: 'hang', when: 'before-headers' });
  const rig = await rigOf(tableOf([{ baseUrl: wall.baseUrl, ...twoKeys({ maxConcurrentRequests: 1 }) }]));
  const first = await openRaw({ port: portOf(rig) });
  await first.send(writeRequest({ path: '/v1/chat/completions', headers: bearer, body }));
  await wall.nextCall();
  wall.script({ type: 'answer' });
  expect((await ask(rig)).status).toBe(200);
  first.abort();
  await until(async () => (await heldOf(rig)) === 0);
  expect((await ask(rig)).status).toBe(200);
  expect(keysUsed(rig)).toEqual(['two', 'one', 'one']);
});

test('a provider without quota is passed over for the next target; with none left it is 429 with the soonest time', async () => {
  const [first, second] = [await wallOf(), await wallOf()];
  const limited = (wall: Wall, limits: RateLimits): RigTarget => ({
    baseUrl: wall.baseUrl,
    providerEntry: { limits },
  });
  const rig = await rigOf(
    tableOf([limited(first, { requestsPerMinute: 2 }), limited(second, { requestsPerMinute: 4 })]),
  );
  for (let index = 0; index < 6; index++) expect((await ask(rig)).status).toBe(200);
  expect(targetsUsed(rig)).toEqual(['t0', 't0', 't1', 't1', 't1', 't1']);
  const refused = await ask(rig);
  // Four a minute: the next one in 15 s.
  expect([refused.status, refused.headers['retry-after'], refused.headers['x-penstock-attempts']]).toEqual([
    429,
    '15',
    '0',
  ]);
  expect(errorOf(refused)).toMatchObject({
    code: 'rate_limit_exceeded',
    message: "The upstreams of model 'm' are rate limited.",
  });
  expect(first.calls.length + second.calls.length).toBe(6);
});

test('a provider has tokens and places; a failed attempt uses no tokens', async () => {
  const [first, second] = [await wallOf({ type: 'status', status: 500 }), await wallOf()];
  const limits = { tokensPerMinute: 100, maxConcurrentRequests: 1 };
  const rig = await rigOf(
    tableOf([
      {
        baseUrl: first.baseUrl,
        providerEntry: {
          limits,
          breaker: { consecutiveFailures: 0, openForMs: 1, maxOpenMs: 1, rateLimitCooldownMs: 1 },
        },
      },
      { baseUrl: second.baseUrl },
    ]),
  );
  for (let index = 0; index < 3; index++) expect((await ask(rig)).status).toBe(200);
  // It is asked twice each time, and its tokens come back each time.
  expect(targetsUsed(rig)).toEqual(['t0', 't0', 't1', 't0', 't0', 't1', 't0', 't0', 't1']);
  first.script({ type: 'answer', usage: { inputTokens: 10, outputTokens: 80 } });
  expect((await ask(rig)).status).toBe(200);
  expect((await ask(rig)).status).toBe(200);
  expect(targetsUsed(rig).slice(9)).toEqual(['t0', 't1']);
});

describe('nothing stays reserved by a request that', () => {
  const one = { maxConcurrentRequests: 1 };
  /** One place everywhere: whatever were left behind would keep the next request out. */
  const narrow = async (): Promise<{ rig: Rig; wall: Wall }> => {
    const wall = await wallOf();
    const [target] = [{ baseUrl: wall.baseUrl, ...twoKeys(one) }];
    const table = tableOf([
      {
        ...target,
        providerEntry: {
          ...target.providerEntry,
          limits: one,
          keys: target.providerEntry?.keys?.slice(0, 1) ?? [],
        },
      },
    ]);
    const rig = await rigOf({
      ...table,
      routes: table.routes.map((route) => ({ ...route, limits: one })),
      keys: table.keys.map((key) => ({ ...key, limits: one })),
    });
    return { rig, wall };
  };
  const endings: Readonly<Record<string, readonly [Behaviour, object, number]>> = {
    'is answered': [{ type: 'answer' }, {}, 200],
    'is streamed': [{ type: 'answer' }, { stream: true }, 200],
    'is split into several calls': [{ type: 'answer' }, { n: 2 }, 200],
    'is refused by the upstream': [{ type: 'status', status: 400 }, {}, 400],
    'fails upstream': [{ type: 'status', status: 500 }, {}, 502],
    'meets a rate limit upstream': [{ type: 'status', status: 429 }, {}, 429],
    'is reset': [{ type: 'reset' }, {}, 502],
    'gets no answer that can be read': [{ type: 'html' }, {}, 502],
    'breaks off as a stream': [{ type: 'cut', after: { events: 3 } }, { stream: true }, 200],
    'is not valid': [{ type: 'answer' }, { temperature: 9 }, 400],
    'names no model': [{ type: 'answer' }, { model: 'nobody' }, 404],
    'asks for another way of delivery': [{ type: 'answer' }, { stream_options: {} }, 400],
  };
  test.each(Object.entries(endings))('%s', async (_, [behaviour, more, status]) => {
    const { rig, wall } = await narrow();
    wall.script(behaviour);
    expect((await ask(rig, more)).status).toBe(status);
    await until(async () => (await heldOf(rig)) === 0);
    wall.script({ type: 'answer' });
    // With another table the key upstream is another one, and does not rest.
    rig.offer({
      ...tableOf([{ baseUrl: wall.baseUrl }]),
      keys: rig.holder.current()?.keys ? [...(rig.holder.current()?.keys.values() ?? [])] : [],
    });
    expect((await ask(rig)).status).toBe(200);
  });

  test.each([
    ['before an answer', { type: 'hang', when: 'before-headers' }],
    ['in its stream', { type: 'hang', when: 'after-headers' }],
  ] as const)('is cancelled by its caller %s', async (_, behaviour) => {
    const { rig, wall } = await narrow();
    wall.script(behaviour);
    for (let index = 0; index < 3; index++) {
      const connection = await openRaw({ port: portOf(rig) });
      await connection.send(
        writeRequest({ path: '/v1/chat/completions', headers: bearer, body: { ...body, stream: true } }),
      );
      await wall.nextCall();
      expect(await heldOf(rig)).toBe(2);
      connection.abort();
      await until(async () => (await heldOf(rig)) === 0);
    }
    wall.script({ type: 'answer' });
    expect((await ask(rig)).status).toBe(200);
  });
});
