// Can the pages that are listed ask the gateway from a browser, the dashboard's among them, and no others?

import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openCrossOrigin } from '../../../gateway/endpoints/cross-origin.ts';
import { rawCall } from '../../support/raw-client.ts';
import { startWall, type Wall } from '../../support/wall.ts';
import { keyEntry, type Rig, startRig, tableOf, testKey } from '../rig.ts';
import { bearer, errorOf, get, portOf, post } from './ask.ts';

const dashboard = 'https://penstock.example.com';
const second = 'http://localhost:8090';
const app = 'app://obsidian.md';
const others = [
  'https://penstock.example.com.evil.example',
  'https://evil.example',
  'http://penstock.example.com',
  'https://penstock.example.com:8443',
  'https://PENSTOCK.example.com',
  'https://penstock.example.com, https://penstock.example.com',
  'null',
  '*',
  'app://obsidian.md.evil.example',
  'app://',
  '',
];

const limitedKey = `psk_${'l'.repeat(49)}`;

let wall: Wall;
let rig: Rig;
let closed: Rig;

beforeAll(async () => {
  wall = await startWall([{ type: 'answer' }]);
  const table = tableOf([{ baseUrl: wall.baseUrl }]);
  const limited = { ...keyEntry(limitedKey, 'team/limited'), limits: { requestsPerMinute: 100 } };
  rig = await startRig(
    { ...table, keys: [...table.keys, limited] },
    { allowedOrigins: [dashboard, second, app] },
  );
  closed = await startRig(table);
});

afterAll(async () => {
  await rig.close();
  await closed.close();
  await wall.close();
  expect([...rig.failures, ...closed.failures]).toEqual([]);
});

const chat = '/v1/chat/completions';
const question = { model: 'm', messages: [{ role: 'user', content: 'Hello' }] };

function askLeave(
  of: Rig,
  origin: string | undefined,
  { path = chat, headers = 'authorization,content-type', method = 'POST' } = {},
) {
  return rawCall(
    { port: portOf(of) },
    {
      method: 'OPTIONS',
      path,
      headers: {
        ...(origin === undefined ? {} : { origin }),
        'access-control-request-method': method,
        'access-control-request-headers': headers,
      },
    },
  );
}

/** The headers that say what a page may do. */
function reported(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => name.startsWith('access-control-') || name === 'vary'),
  );
}

const listOf = (text = '') => text.split(', ').sort();

describe("a browser's preflight, without a key", () => {
  test.each([chat, '/v1/messages', '/v1/responses', '/v1/models', '/v1/models/team/m'])(
    'to %s',
    async (path) => {
      for (const origin of [dashboard, second, app]) {
        const { status, headers, text } = await askLeave(rig, origin, { path });
        expect([status, text]).toEqual([204, '']);
        expect(reported(headers)).toEqual({
          'access-control-allow-origin': origin,
          'access-control-allow-methods': 'GET, POST',
          'access-control-allow-headers': 'authorization, content-type',
          'access-control-max-age': '600',
          'access-control-expose-headers': expect.any(String),
          vary: 'origin, access-control-request-headers',
        });
      }
    },
  );

  test('is allowed the headers that callers send, and no others', async () => {
    const { headers } = await askLeave(rig, dashboard, {
      headers:
        'X-API-Key, cookie,anthropic-version,x-forwarded-for,x-stainless-lang,x-stainless-a b,,x-other',
    });
    expect(headers['access-control-allow-headers']).toBe('x-api-key, anthropic-version, x-stainless-lang');
  });

  test('is allowed all headers of the vendors, also future ones', async () => {
    const headers = 'anthropic-workspace-id, openai-safety-identifier, x-stainless-helper-method';
    const { headers: given } = await askLeave(rig, app, {
      headers: `${headers}, x-anthropic-version, openai-`,
    });
    expect(given['access-control-allow-headers']).toBe(headers);
  });

  test('is allowed if the page adds no header', async () => {
    const { status, headers } = await askLeave(rig, dashboard, {
      headers: '',
      path: '/v1/models',
      method: 'GET',
    });
    expect(status).toBe(204);
    expect(headers).not.toHaveProperty('access-control-allow-headers');
  });

  test('is allowed all headers that the SDKs send', async () => {
    const sent = new Set<string>();
    const fetch = async (_: unknown, init?: RequestInit): Promise<Response> => {
      for (const [name] of new Headers(init?.headers)) sent.add(name);
      return Response.json({});
    };
    const options = { fetch, baseURL: 'http://gateway.invalid/v1', dangerouslyAllowBrowser: true };
    const openAi = new OpenAI({ ...options, apiKey: testKey, organization: 'o', project: 'p' });
    await openAi.chat.completions.create({ model: 'm', messages: [] });
    const anthropic = new Anthropic({ ...options, apiKey: testKey });
    await anthropic.messages.create({ model: 'm', max_tokens: 1, messages: [] });
    expect(sent.size).toBeGreaterThan(10);
    // Needs no leave.
    sent.delete('accept');
    const { headers } = await askLeave(rig, dashboard, { headers: [...sent].join(',') });
    expect(listOf(headers['access-control-allow-headers'])).toEqual([...sent].sort());
  });
});

describe('a page may read the answer', () => {
  const page = { ...bearer, origin: dashboard };

  test('with the request id and the rest of the limits', async () => {
    const { status, headers } = await post(rig, chat, question, {
      origin: dashboard,
      authorization: `Bearer ${limitedKey}`,
    });
    expect(status).toBe(200);
    expect(reported(headers)).toMatchObject({ 'access-control-allow-origin': dashboard, vary: 'origin' });
    const exposed = listOf(headers['access-control-expose-headers']);
    const ours = Object.keys(headers).filter((name) => /^(x-|request-id|retry-)/.test(name));
    expect(ours).toEqual(expect.arrayContaining(['x-request-id', 'x-ratelimit-remaining-requests']));
    expect(ours.filter((name) => !exposed.includes(name))).toEqual([]);
    expect(exposed).toContain('anthropic-ratelimit-requests-remaining');
  });

  test('as a stream', async () => {
    const { status, headers } = await post(rig, chat, { ...question, stream: true }, page);
    expect([status, headers['content-type']]).toEqual([200, expect.stringContaining('text/event-stream')]);
    expect(headers['access-control-allow-origin']).toBe(dashboard);
  });

  test('if it is a refusal', async () => {
    const { status, headers } = await post(rig, chat, question, { origin: dashboard });
    expect([status, headers['access-control-allow-origin']]).toEqual([401, dashboard]);
    const nowhere = await get(rig, '/v1/nothing', page);
    expect([nowhere.status, nowhere.headers['access-control-allow-origin']]).toEqual([404, dashboard]);
  });

  test('if it is the list of models, which depends on the key too', async () => {
    const { headers } = await get(rig, '/v1/models', page);
    expect(reported(headers)).toMatchObject({
      'access-control-allow-origin': dashboard,
      vary: 'authorization, x-api-key, origin',
    });
  });

  test('and never with credentials that the browser adds automatically', async () => {
    for (const { headers } of [await get(rig, '/v1/models', page), await askLeave(rig, dashboard)])
      expect(headers).not.toHaveProperty('access-control-allow-credentials');
  });
});

describe('a page of any other address', () => {
  test.each([...others, undefined])('is not allowed to send: %s', async (origin) => {
    const { status, headers, json } = await askLeave(rig, origin);
    expect([status, errorOf({ json }).code]).toEqual([405, 'method_not_allowed']);
    expect(reported(headers)).toEqual({ vary: 'origin' });
  });

  test.each([...others, undefined])('cannot read the answer: %s', async (origin) => {
    const page = { ...bearer, ...(origin === undefined ? {} : { origin }) };
    const answered = [await post(rig, chat, question, page), await get(rig, '/v1/models', page)];
    expect(answered.map(({ status }) => status)).toEqual([200, 200]);
    for (const { headers } of answered)
      expect(Object.keys(reported(headers)).filter((name) => name !== 'vary')).toEqual([]);
  });

  test('learns nothing more from OPTIONS without a preflight, or at an unknown path', async () => {
    const plain = await rawCall(
      { port: portOf(rig) },
      { method: 'OPTIONS', path: chat, headers: { origin: dashboard } },
    );
    expect(plain.status).toBe(405);
    expect((await askLeave(rig, dashboard, { path: '/metrics' })).status).toBe(404);
  });
});

test('without configured origins, no page is allowed anything', async () => {
  expect(openCrossOrigin([])).toBeUndefined();
  const page = { ...bearer, origin: dashboard };
  const answered = [
    await askLeave(closed, dashboard),
    await askLeave(closed, dashboard, { path: '/v1/nothing' }),
    await post(closed, chat, question, page),
  ];
  expect(answered.map(({ status }) => status)).toEqual([405, 404, 200]);
  for (const { headers } of answered) expect(reported(headers)).toEqual({});
});
