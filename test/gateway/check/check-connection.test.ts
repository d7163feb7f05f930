// Can a connection be tested from a gateway without a secret going astray, and without reaching what the namespace may not reach?

import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../../core/clock.ts';
import {
  CHECK_MODELS_MAX,
  type CheckQuestion,
  checkAnswerSchema,
  checkQuestionSchema,
} from '../../../core/contract/connection-check.ts';
import { checkConnection } from '../../../gateway/check/check-connection.ts';
import { readModels } from '../../../gateway/check/read-models.ts';
import { buildTableView } from '../../../gateway/table/view.ts';
import { closedPort } from '../../support/wall.ts';
import { loopback, tableOf } from '../rig.ts';

const running: (() => void)[] = [];
afterEach(() => {
  for (const stop of running.splice(0)) stop();
});

interface Server {
  readonly base: string;
  /** What it was asked. */
  readonly asked: readonly Pick<IncomingMessage, 'url' | 'headers'>[];
}

const listOf = (...ids: readonly unknown[]) => JSON.stringify({ data: ids.map((id) => ({ id })) });

async function serve(
  answer: RequestListener = (_, response) => void response.end(listOf('llama-4')),
): Promise<Server> {
  const asked: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    asked.push(request);
    answer(request, response);
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  running.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return { base: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, asked };
}

const answering = (status: number, body = '', headers = {}) =>
  serve((_, response) => void response.writeHead(status, headers).end(body));

/** A table with the Provider team-a/own at that address, with a key. */
function check(base: string, question: Omit<CheckQuestion, 'namespace'> & { namespace?: string }) {
  const table = tableOf([{ baseUrl: base, provider: 'team-a/own', keys: { main: 'canary-stored' } }]);
  const settings = { ...loopback, egressAllow: [{ cidr: '127.0.0.0/8', namespaces: ['team-a'] }] };
  const asked = checkQuestionSchema.parse({ namespace: 'team-a', ...question });
  return checkConnection(buildTableView({ ...table, settings }), systemClock, asked);
}
const unsaved = (base: string, more: Partial<CheckQuestion> = {}) =>
  check('https://elsewhere.example/v1', {
    type: 'OpenAICompatible',
    apis: ['ChatCompletions'],
    baseURL: base,
    ...more,
  });

test('a saved Provider is asked with its own key, and its models come back', async () => {
  const { base, asked } = await serve((_, response) => void response.end(listOf('llama-4', 'a/b:70b')));
  const found = await check(base, { provider: 'own' });
  expect(found).toMatchObject({ outcome: 'works', status: 200, models: ['llama-4', 'a/b:70b'] });
  expect(found.message).toMatch(/^Reachable in \d+ ms: model list read, 2 models\. No model was called\.$/);
  expect(asked[0]?.url).toBe('/v1/models');
  expect(asked[0]?.headers.authorization).toBe('Bearer canary-stored');
});

test('a Provider that is not saved is asked with the key that was typed', async () => {
  const { base, asked } = await serve();
  expect(await unsaved(base, { key: 'typed' })).toMatchObject({ outcome: 'works', models: ['llama-4'] });
  expect(await unsaved(base)).toMatchObject({ outcome: 'works' });
  expect(asked.map(({ headers }) => headers.authorization)).toEqual(['Bearer typed', undefined]);
});

test('each type presents its key and its dialect in its own way', async () => {
  const { base, asked } = await serve();
  await check(base, { type: 'Anthropic', baseURL: base, key: 'typed' });
  await check(base, { type: 'OpenAI', baseURL: base, key: 'typed', options: { project: 'p1' } });
  expect(asked[0]?.headers).toMatchObject({ 'x-api-key': 'typed', 'anthropic-version': '2023-06-01' });
  expect(asked[1]?.headers).toMatchObject({ authorization: 'Bearer typed', 'openai-project': 'p1' });
});

describe('a stored key', () => {
  test('is not sent to another address than that of its Provider', async () => {
    const own = await serve();
    const other = await serve();
    await check(own.base, { provider: 'own', type: 'OpenAICompatible', baseURL: other.base });
    await check(own.base, { provider: 'own', type: 'OpenAICompatible', baseURL: `${own.base}/deeper` });
    expect([...other.asked, ...own.asked].map(({ headers }) => headers.authorization)).toEqual([
      undefined,
      undefined,
    ]);
  });

  test('is not used for another namespace', async () => {
    const { base, asked } = await serve();
    const found = await check(base, { namespace: 'team-b', provider: 'own' });
    expect(found).toMatchObject({ outcome: 'fails', message: expect.stringMatching(/do not have this/) });
    expect(asked).toEqual([]);
  });

  test('gives way to a key that was typed, at the same address', async () => {
    const { base, asked } = await serve();
    await check(base, { provider: 'own', type: 'OpenAICompatible', baseURL: base, key: 'typed' });
    expect(asked[0]?.headers.authorization).toBe('Bearer typed');
  });
});

test.each([
  'http://127.0.0.1:%/v1',
  'http://localhost:%/v1',
  'http://[::1]:%/v1',
  'http://[::ffff:127.0.0.1]:%/v1',
  'http://169.254.169.254/latest',
])('%s is not dialled for a namespace to which it is closed', async (address) => {
  const { base, asked } = await serve();
  const at = address.replace('%', new URL(base).port);
  const found = await unsaved(at, { namespace: 'team-b' });
  expect(found).toMatchObject({ outcome: 'fails', message: expect.stringMatching(/not allowed/) });
  expect(asked).toEqual([]);
});

describe('the result for', () => {
  test.each([
    [401, undefined, 'refused', /requires a key/],
    [401, 'typed', 'refused', /rejects this key/],
    [403, 'typed', 'refused', /rejects this key/],
    [404, undefined, 'odd', /Check the path/],
    [200, undefined, 'odd', /without a list of models/],
    [302, undefined, 'odd', /a redirect, which is not followed/],
    [429, undefined, 'works', /too many requests/],
    [503, undefined, 'fails', /Check the log of the server/],
  ] as const)('%i, with the key %s: %s', async (status, key, outcome, message) => {
    const other = await serve();
    const { base } = await answering(status, 'canary-answer', { location: other.base });
    const found = await unsaved(base, key === undefined ? {} : { key });
    expect(found).toMatchObject({ outcome, status, message: expect.stringMatching(message) });
    expect(found.models).toBeUndefined();
    expect(JSON.stringify(found)).not.toMatch(/canary|typed/);
    expect(other.asked).toEqual([]);
  });

  test('a port where nothing listens', async () => {
    const port = await closedPort();
    running.push(() => void port.close());
    const found = await unsaved(`http://127.0.0.1:${port.port}/v1`);
    expect(found).toMatchObject({ outcome: 'fails', message: expect.stringMatching(/refused/) });
  });

  test('a name without an address', async () => {
    const found = await unsaved('https://nothing.invalid/v1');
    expect(found).toMatchObject({ outcome: 'fails', message: expect.stringMatching(/cannot be resolved/) });
  });

  test('a server that does not speak TLS', async () => {
    const { base } = await serve();
    const found = await unsaved(base.replace('http:', 'https:'));
    expect(found.outcome).toBe('fails');
    expect(found.message).toMatch(/TLS|certificate/i);
  });

  test('a list with more models than are passed on', async () => {
    const ids = Array.from({ length: CHECK_MODELS_MAX + 7 }, (_, at) => `m-${at}`);
    const found = checkAnswerSchema.parse(await unsaved((await answering(200, listOf(...ids))).base));
    expect([found.models?.length, found.more]).toEqual([CHECK_MODELS_MAX, 7]);
  });
});

test('a type with its own sign-in: connected, and reported as not tested', async () => {
  const { base, asked } = await serve();
  const found = await unsaved(base, { type: 'AzureOpenAI', key: 'typed' });
  expect(found).toMatchObject({ outcome: 'odd', message: expect.stringMatching(/sign-in was not tested/) });
  expect(asked).toEqual([]);
});

test.each([
  ['{"data":[{"id":"a"},{"id":"a"},{"id":"b"}]}', ['a', 'b']],
  ['{"models":[{"name":"llama4:70b","model":"x"}]}', ['llama4:70b']],
  ['["a",{"id":"b"}]', ['a', 'b']],
  ['{"data":[{"id":1},{"id":"two words"},{"id":"<b>"},null,{}]}', []],
  ['{"object":"list"}', undefined],
  ['<html>', undefined],
])('%s lists %j', (body, ids) => {
  expect(readModels(body)).toEqual(ids);
});

test.each([
  { namespace: 'team-a' },
  { namespace: 'team-a', type: 'OpenAI', baseURL: 'ftp://a.example' },
  { namespace: 'team-a', type: 'OpenAI', baseURL: 'https://user:pw@a.example' },
  { namespace: 'team-a', type: 'OpenAI', key: 'two words' },
  { namespace: 'team-a', type: 'OpenAI', options: { apiVersion: 'x' } },
  { namespace: 'team-a', type: 'OpenAI', options: { project: 'a\r\nb: c' } },
])('%j is refused', (question) => {
  expect(checkQuestionSchema.safeParse(question).success).toBe(false);
});
