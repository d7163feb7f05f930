// Rows of the catalogue of attacks that are about single requests: redirects, addresses in bodies, caches, labels, names that flip, and
// whose connection a request goes out on. Longer runs of some: test/e2e/security.e2e.ts.

import { createServer, type Server } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { dialectNameSchema } from '../../core/contract/routing-table.ts';
import { findDialect } from '../../gateway/dialects/registry.ts';
import { readClientRequestId } from '../../gateway/request/request-id.ts';
import { bearer, get, post } from '../gateway/endpoints/ask.ts';
import { keyEntry, type Rig, type RigTarget, startRig, tableOf, testKey } from '../gateway/rig.ts';
import { listenKept } from '../support/listen-kept.ts';
import { rawCall } from '../support/raw-client.ts';
import { runFlippingName } from './flipping-name.ts';
import { runRandomModels } from './random-models.ts';
import {
  plainAnswers,
  plainAsks,
  type RecordingUpstream,
  startRecordingUpstream,
  type UpstreamAnswer,
} from './recording-upstream.ts';

type DialectName = (typeof dialectNameSchema.options)[number];
const dialects = dialectNameSchema.options;
const closers: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function upstreamThat(answer: UpstreamAnswer | (() => UpstreamAnswer)): Promise<RecordingUpstream> {
  const upstream = await startRecordingUpstream(typeof answer === 'function' ? answer : () => answer);
  closers.push(upstream.close);
  return upstream;
}

async function rigOf(table: Parameters<typeof startRig>[0]): Promise<Rig> {
  const rig = await startRig(table);
  closers.push(rig.close);
  return rig;
}

/** Somewhere that nobody must come to. */
async function trap(): Promise<{ readonly port: number; readonly visits: () => number }> {
  let visits = 0;
  const server: Server = createServer(() => {
    visits++;
  });
  const { port, close } = await listenKept(server);
  closers.push(close);
  return { port, visits: () => visits };
}

function targetOf(
  upstream: RecordingUpstream,
  dialect: DialectName,
  more: Partial<RigTarget> = {},
): RigTarget {
  const breaker = { consecutiveFailures: 0, openForMs: 1, maxOpenMs: 1, rateLimitCooldownMs: 1 };
  return {
    baseUrl: `http://127.0.0.1:${upstream.port}/v1`,
    dialects: [dialect],
    ...more,
    providerEntry: { dialects: [dialect], breaker, ...more.providerEntry },
  };
}

const bodyOf = (dialect: DialectName, more: object = {}) => ({ model: 'm', ...plainAsks[dialect], ...more });

describe.each(dialects)('an upstream of %s that sends its callers elsewhere', (dialect) => {
  test.each([301, 302, 303, 307, 308])(
    'with %i is reported as a failure, and is not followed',
    async (status) => {
      const elsewhere = await trap();
      const location = `http://127.0.0.1:${elsewhere.port}/v1${findDialect(dialect).path}`;
      const upstream = await upstreamThat({ status, headers: { location } });
      const rig = await rigOf(tableOf([targetOf(upstream, dialect)]));
      for (const stream of [false, true]) {
        const answer = await post(rig, `/v1${findDialect(dialect).path}`, bodyOf(dialect, { stream }));
        expect(answer.status).toBe(502);
        expect(answer.headers).not.toHaveProperty('location');
        expect(answer.text).not.toContain(String(elsewhere.port));
      }
      expect(upstream.requests.length).toBeGreaterThanOrEqual(2);
      expect(elsewhere.visits()).toBe(0);
    },
  );
});

describe('an address in a request', () => {
  const pictures = (url: string) => ({
    'openai-chat': [
      {
        role: 'user',
        content: [
          { type: 'text', text: url },
          { type: 'image_url', image_url: { url } },
        ],
      },
    ],
    'openai-responses': [
      {
        role: 'user',
        content: [
          { type: 'input_image', image_url: url },
          { type: 'input_file', file_url: url },
        ],
      },
    ],
    'anthropic-messages': [
      {
        role: 'user',
        content: [
          { type: 'image', source: { type: 'url', url } },
          { type: 'document', source: { type: 'url', url } },
        ],
      },
    ],
  });
  const clients = ['openai-chat', 'openai-responses', 'anthropic-messages'] as const;

  test.each(clients.flatMap((client) => dialects.map((upstream) => [client, upstream] as const)))(
    'of a picture or a file, from %s to %s, is passed on as text or refused, and never fetched',
    async (client, dialect) => {
      const elsewhere = await trap();
      const url = `http://127.0.0.1:${elsewhere.port}/picture.png`;
      const upstream = await upstreamThat({ body: JSON.stringify(plainAnswers[dialect]) });
      const rig = await rigOf(tableOf([targetOf(upstream, dialect)]));
      const asked = pictures(url)[client];
      const body = client === 'openai-responses' ? { input: asked } : { messages: asked, max_tokens: 9 };
      const { status } = await post(rig, `/v1${findDialect(client).path}`, {
        model: 'm',
        ...body,
        metadata: { api_base: url },
      });
      expect([200, 400]).toContain(status);
      expect(upstream.requests).toHaveLength(status === 200 ? 1 : 0);
      if (client === dialect) expect(upstream.requests[0]?.body).toContain(url);
      expect(elsewhere.visits()).toBe(0);
    },
  );
});

test('a name that alternates between an open address and a forbidden one never reaches the forbidden one', async () => {
  const { reached, ledInside, answered, refused } = await runFlippingName(400);
  expect(reached).toBe(0);
  expect([ledInside, answered, refused]).toEqual([200, 200, 200]);
});

describe('a kept connection', () => {
  const body = JSON.stringify(plainAnswers['openai-chat']);

  test('carries requests of the namespace it was opened for, and of its provider, alone', async () => {
    const upstream = await upstreamThat({ body });
    const other = `psk_${'o'.repeat(49)}`;
    const tables = ['team/p', 'other/p', 'platform/p'].map((provider) => {
      const [namespace = ''] = provider.split('/');
      const target = targetOf(upstream, 'openai-chat', { provider, keys: { main: `sk-of-${namespace}` } });
      return tableOf([target], {
        id: `${namespace}/m`,
        model: namespace === 'platform' ? 'shared' : 'm',
        sharedWith: namespace === 'platform' ? '*' : [],
      });
    });
    const [first] = tables;
    if (!first) throw new Error('there are tables');
    const rig = await rigOf({
      ...first,
      credentials: tables.flatMap(({ credentials }) => credentials),
      providers: tables.flatMap(({ providers }) => providers),
      routes: tables.flatMap(({ routes }) => routes),
      keys: [keyEntry(testKey, 'team/key'), keyEntry(other, 'other/key')],
    });
    for (let round = 0; round < 5; round++) {
      for (const key of [testKey, other]) {
        for (const model of ['m', 'shared']) {
          const headers = { authorization: `Bearer ${key}` };
          const ask = { ...plainAsks['openai-chat'], model };
          expect((await post(rig, '/v1/chat/completions', ask, headers)).status).toBe(200);
        }
      }
    }
    const owners = new Map<unknown, Set<string>>();
    for (const { connection, headers } of upstream.requests) {
      const known = owners.get(connection) ?? new Set();
      owners.set(connection, known.add(String(headers.authorization)));
    }
    expect([...owners.values()].map(({ size }) => size)).toEqual([1, 1, 1]);
    expect(new Set([...owners.values()].flatMap((names) => [...names])).size).toBe(3);
  });

  test('carries nothing more once its address is no longer open', async () => {
    const upstream = await upstreamThat({ body });
    const table = tableOf([targetOf(upstream, 'openai-chat')]);
    const rig = await rigOf(table);
    const ask = () => post(rig, '/v1/chat/completions', bodyOf('openai-chat'));
    expect((await ask()).status).toBe(200);
    rig.offer({ ...table, settings: { ...table.settings, egressAllow: [] } });
    expect((await ask()).status).toBe(502);
    expect(rig.records.at(-1)?.failure).toBe('egress_denied');
    expect(upstream.requests).toHaveLength(1);
  });
});

test('a range of public space that the platform has closed is not dialled', async () => {
  const table = tableOf([{ baseUrl: 'http://93.184.216.34:9/v1' }]);
  const closed = { ...table.settings, egressAllow: [], egressDeny: ['93.184.0.0/16'] };
  const rig = await rigOf({ ...table, settings: closed });
  const answer = await post(rig, '/v1/chat/completions', bodyOf('openai-chat'));
  expect(answer.status).toBe(502);
  expect(rig.records.at(-1)?.failure).toBe('egress_denied');
});

test('no answer may be cached; and lists of models vary by caller', async () => {
  const upstream = await upstreamThat({
    body: JSON.stringify(plainAnswers['openai-chat']),
    headers: { 'cache-control': 'public, max-age=60' },
  });
  const rig = await rigOf(tableOf([targetOf(upstream, 'openai-chat')]));
  const chat = '/v1/chat/completions';
  const plain = bodyOf('openai-chat');
  const answers = {
    'a plain answer': await post(rig, chat, plain),
    'a stream': await post(rig, chat, { ...plain, stream: true }),
    'a translated answer': await post(rig, '/v1/messages', bodyOf('anthropic-messages')),
    'a count of tokens': await post(rig, '/v1/messages/count_tokens', bodyOf('anthropic-messages')),
    'a caller’s mistake': await post(rig, chat, '{'),
    'no key': await post(rig, chat, plain, {}),
    'no model': await post(rig, chat, { ...plain, model: 'x' }),
    'no page': await get(rig, '/nowhere'),
    'another method': await get(rig, chat),
    'a list': await get(rig, '/v1/models'),
    'a list by key': await get(rig, '/v1/models', bearer),
    'one of them': await get(rig, '/v1/models/m', bearer),
    'none of them': await get(rig, '/v1/models/x', bearer),
  };
  for (const [what, { headers }] of Object.entries(answers)) {
    expect([what, headers['cache-control']]).toEqual([what, expect.stringMatching(/\bno-store\b/)]);
  }
  for (const what of ['a list', 'a list by key', 'one of them'] as const) {
    expect(answers[what].headers.vary).toBe('authorization, x-api-key');
  }
  for (const path of ['/metrics', '/healthz', '/readyz']) {
    const { headers } = await fetch(`${rig.gateway.metricsUrl}${path}`);
    expect([path, headers.get('cache-control')]).toEqual([path, 'no-store']);
  }
});

test('callers add no series to metrics, with any models and paths', async () => {
  const { seriesBefore, seriesAfter, isNameShown } = await runRandomModels(1_000, 20_261_122);
  expect(seriesBefore).toBeGreaterThan(20);
  expect(seriesAfter).toBe(seriesBefore);
  expect(isNameShown).toBe(false);
});

const long = 'y'.repeat(12_000);
test.each([
  ['a member that is twice', 'POST', '/v1/chat/completions', `{"${long}":1,"${long}":2}`],
  ['a model', 'POST', '/v1/chat/completions', JSON.stringify({ model: long, messages: [] })],
  [
    'a role',
    'POST',
    '/v1/messages',
    JSON.stringify({ model: 'm', messages: [{ role: long, content: 'x' }] }),
  ],
  ['a path', 'GET', `/v1/${long}`, undefined],
  ['a path with another method', 'DELETE', `/v1/models/${long}`, undefined],
  ['an invalid path', 'GET', `/v1/%zz${long}`, undefined],
  ['the id of a model', 'GET', `/v1/models/${long}`, undefined],
])('%s of 12,000 characters is cut to 256 in the error', async (_, method, path, body) => {
  const upstream = await upstreamThat({ body: JSON.stringify(plainAnswers['openai-chat']) });
  const rig = await rigOf(tableOf([targetOf(upstream, 'openai-chat')]));
  const request = { method, path, headers: bearer, ...(body === undefined ? {} : { body }) };
  const answer = await rawCall({ port: Number(new URL(rig.url).port) }, request);
  expect(answer.status).toBeGreaterThanOrEqual(400);
  expect(answer.status).toBeLessThan(500);
  expect(answer.text).not.toContain('y'.repeat(257));
  expect(answer.text.length).toBeLessThan(1_500);
});

test('the id of a request is never the caller’s: ids are unique, and used in logs and the ledger', async () => {
  const upstream = await upstreamThat({ body: JSON.stringify(plainAnswers['openai-chat']) });
  const rig = await rigOf(tableOf([targetOf(upstream, 'openai-chat')]));
  const ids = [
    'mine-12345678',
    'a\tb',
    'x'.repeat(300),
    '\u001b[31mred',
    'req_0',
    '%0d%0aset-cookie: a=b',
    '{"level":"error"}',
  ];
  const seen = new Set<string>();
  for (const id of ids) {
    const headers = { ...bearer, 'x-request-id': id, 'request-id': id };
    for (const model of ['m', `x\r\n\u2028\u001b[2J${'y'.repeat(400)}`]) {
      const answer = await post(rig, '/v1/chat/completions', { ...bodyOf('openai-chat'), model }, headers);
      expect(answer.headers['x-request-id']).toMatch(/^req_[0-9a-z]{30}$/);
      expect(answer.headers['request-id']).toBe(answer.headers['x-request-id']);
      // One line of JSON, of which no more than 256 characters are the caller's.
      expect([...answer.text].filter((character) => character < ' ')).toEqual([]);
      expect(answer.text).not.toContain('y'.repeat(300));
      seen.add(String(answer.headers['x-request-id']));
    }
  }
  expect(seen.size).toBe(2 * ids.length);
  expect(rig.records.map(({ request }) => request).filter((id) => !seen.has(id))).toEqual([]);
});

describe('the caller’s own id of its request', () => {
  const good = 'a-trace.of_12345678';
  test.each<[string, readonly string[], string | undefined]>([
    ['is read where clients write it', ['X-Client-Request-Id', good], good],
    ['is read where proxies write it', ['x-request-id', good], good],
    ['is rather what clients write', ['x-request-id', 'of-the-proxy', 'x-client-request-id', good], good],
    ['is what is well formed', ['x-client-request-id', 'short', 'x-request-id', good], good],
    ['may be 64 characters long', ['x-request-id', 'a'.repeat(64)], 'a'.repeat(64)],
    ['may not be longer', ['x-request-id', 'a'.repeat(65)], undefined],
    ['may not be shorter than eight', ['x-request-id', 'a'.repeat(7)], undefined],
    ['has no colours', ['x-request-id', '\u001b[31mred-and-long'], undefined],
    ['has no lines', ['x-request-id', 'long-enough\r\nx: y'], undefined],
    ['does not end in one', ['x-request-id', 'long-enough\n'], undefined],
    ['has no line that JSON leaves as it is', ['x-request-id', 'long-enough\u2028'], undefined],
    ['is no JSON', ['x-request-id', '{"level":"error"}'], undefined],
    ['is absent without one', ['request-id', good], undefined],
  ])('%s: %j', (_, rawHeaders, expected) => {
    expect(readClientRequestId(rawHeaders)).toBe(expected);
  });
});
