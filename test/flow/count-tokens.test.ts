// Who is asked how many tokens a request is, and for how long? A count is a help, and no reason to ask everybody.

import { createServer } from 'node:http';
import { expect, test } from 'vitest';
import { type RigTarget, startRig, tableOf, testKey } from '../gateway/rig.ts';
import { listenKept } from '../support/listen-kept.ts';
import { openRaw, rawCall, writeRequest } from '../support/raw-client.ts';
import { startRedis } from '../support/redis-server.ts';
import type { Behaviour, Wall } from '../support/wall.ts';
import { ask, portOf } from './ask.ts';
import { inHouse } from './house.ts';

const question = { model: 'm', messages: [{ role: 'user', content: 'three plain words' }] };
const asked = {
  path: '/v1/messages/count_tokens',
  headers: { authorization: `Bearer ${testKey}` },
  body: question,
};
const fromWall = (wall: Wall, more: Partial<RigTarget> = {}): RigTarget => ({
  baseUrl: wall.baseUrl,
  dialects: ['anthropic-messages'],
  ...more,
});

test(
  'three targets are asked, then the count is estimated',
  inHouse(async (house) => {
    const walls = await Promise.all([1, 2, 3, 4].map(() => house.wallThat({ type: 'status', status: 500 })));
    const rig = await house.rigOf(walls.map((wall) => fromWall(wall)));
    const answer = await rawCall({ port: portOf(rig) }, asked);
    expect([answer.status, answer.headers['x-penstock-estimated']]).toEqual([200, 'true']);
    expect(walls.map(({ calls }) => calls.length)).toEqual([1, 1, 1, 0]);
  }),
);

test(
  'an upstream that sends more than a number is closed, and little of its answer is kept',
  inHouse(async (house) => {
    const release = Promise.withResolvers<number>();
    const server = createServer((request, response) => {
      request.resume();
      response.writeHead(200, { 'content-type': 'application/json' });
      let bytes = 0;
      const writeOn = (): void => {
        bytes += 1024;
        response.write(' '.repeat(1024), (error) => {
          if (!error) setImmediate(writeOn);
        });
      };
      response.once('close', () => release.resolve(bytes));
      writeOn();
    });
    const upstream = await listenKept(server);
    try {
      const baseUrl = `http://127.0.0.1:${upstream.port}/v1`;
      const rig = await house.rigOf([{ baseUrl, dialects: ['anthropic-messages'] }]);
      const answer = await rawCall({ port: portOf(rig) }, asked);
      expect([answer.status, answer.headers['x-penstock-estimated']]).toEqual([200, 'true']);
      // What is in progress between the two counts too. Read for all of its five seconds, it would be many times as much.
      expect(await release.promise).toBeLessThan(256 * 1024);
    } finally {
      await upstream.close();
    }
  }),
);

test(
  'silent targets together delay a caller no longer than one of them',
  inHouse(async (house) => {
    const silent = { type: 'hang', when: 'before-headers' } as const;
    const walls = await Promise.all([1, 2].map(() => house.wallThat(silent)));
    const rig = await house.rigOf(walls.map((wall) => fromWall(wall)));
    const answer = await rawCall({ port: portOf(rig) }, asked);
    expect([answer.status, answer.headers['x-penstock-estimated']]).toEqual([200, 'true']);
    expect(walls.map(({ calls }) => calls.length)).toEqual([1, 0]);
  }),
);

test(
  'no target is asked after the caller has disconnected',
  inHouse(async (house) => {
    const silent = await house.wallThat({ type: 'hang', when: 'before-headers' });
    const next = await house.wallThat({ type: 'status', status: 500 });
    const rig = await house.rigOf([fromWall(silent), fromWall(next)]);
    const connection = await openRaw({ port: portOf(rig) });
    await connection.send(writeRequest(asked));
    await expect.poll(() => silent.calls.length).toBe(1);
    connection.abort();
    await expect.poll(() => silent.calls[0]?.end).toBe('client-closed');
    // One more way through the gateway: whatever the first was to do has been done.
    expect(
      (await rawCall({ port: portOf(rig) }, { ...asked, body: { ...question, model: 'none' } })).status,
    ).toBe(404);
    expect(next.calls).toHaveLength(0);
  }),
);

test(
  'no target is asked for a caller that disconnected during a call to the limits store',
  inHouse(async (house) => {
    const redis = await startRedis();
    house.onClose(() => redis.close());
    const wall = await house.wallThat({ type: 'answer' });
    const table = tableOf([fromWall(wall)]);
    const keys = table.keys.map((key) => ({ ...key, limits: { requestsPerMinute: 100 } }));
    const store = { url: redis.url, prefix: 'test', password: undefined };
    const limits = { store, callBudgetMs: 60_000, onStoreError: 'Deny', gateways: 1 } as const;
    const rig = await startRig({ ...table, keys }, { limits });
    house.onClose(() => rig.close());
    const bytesInHand = async (): Promise<number> => {
      const text = await rig.gateway.metrics.registry.metrics();
      return Number(/^penstock_request_body_bytes (\d+)$/m.exec(text)?.[1]);
    };
    await expect.poll(async () => (await rawCall({ port: portOf(rig) }, asked)).status).toBe(200);
    const before = wall.calls.length;
    redis.pause();
    const connection = await openRaw({ port: portOf(rig) });
    await connection.send(writeRequest(asked));
    await expect.poll(bytesInHand).toBeGreaterThan(0);
    connection.abort();
    // One more way through the gateway: by then it has seen the other one's end.
    const unknown = { ...asked, body: { ...question, model: 'none' } };
    expect((await rawCall({ port: portOf(rig) }, unknown)).status).toBe(404);
    redis.resume();
    // Answered behind the one before it.
    expect((await rawCall({ port: portOf(rig) }, asked)).status).toBe(200);
    expect(wall.calls).toHaveLength(before + 1);
  }),
);

test(
  'a key that is out of credit cools down for all requests, a key that fails to count does not',
  inHouse(async (house) => {
    const words = 'Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing.';
    const errors: Readonly<Record<string, Behaviour>> = {
      'KEY-A': { type: 'status', status: 400, error: { message: words } },
      'KEY-B': { type: 'status', status: 429, headers: { 'retry-after': '60' } },
    };
    const wall = await house.wallThat(
      (call) => errors[String(call.headers['x-api-key'])] ?? { type: 'answer' },
    );
    const auth = { header: 'x-api-key', prefix: '' };
    const rig = await house.rigOf([
      fromWall(wall, { keys: { a: 'KEY-A', b: 'KEY-B' }, providerEntry: { auth } }),
    ]);
    for (let n = 0; n < 2; n++) await rawCall({ port: portOf(rig) }, asked);
    expect(wall.calls.map((call) => call.headers['x-api-key'])).toEqual(['KEY-A', 'KEY-B', 'KEY-B']);
  }),
);

test(
  'an upstream in a trial is judged by an answer, not by a count',
  inHouse(async (house) => {
    const wall = await house.wallThat([{ type: 'status', status: 501 }, { type: 'answer' }]);
    const breaker = { consecutiveFailures: 1, openForMs: 1, maxOpenMs: 1, rateLimitCooldownMs: 1_000 };
    const rig = await house.rigOf([fromWall(wall, { providerEntry: { breaker } })]);
    const paths = (): readonly string[] => wall.calls.map(({ path }) => path);
    const count = () => rawCall({ port: portOf(rig) }, asked);
    expect((await ask(rig, { endpoint: 'messages' })).status).toBe(502);
    // The open time is a millisecond, and a call takes longer.
    expect((await count()).headers['x-penstock-estimated']).toBe('true');
    expect((await count()).headers['x-penstock-estimated']).toBe('true');
    expect(paths()).toEqual(['/v1/messages']);
    for (const _ of [1, 2]) expect((await ask(rig, { endpoint: 'messages' })).status).toBe(200);
    await count();
    expect(paths()).toEqual([
      ...['/v1/messages', '/v1/messages', '/v1/messages'],
      '/v1/messages/count_tokens',
    ]);
  }),
);
