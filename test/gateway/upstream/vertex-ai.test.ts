// Are models of Vertex AI reached at the paths of their publishers, with tokens that Google gives for a service account? At a Google that
// refuses tokens that have ended, and whatever its parser does not know.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { DialectName, UpstreamDialectName } from '../../../core/contract/routing-table.ts';
import { type SeatRows, seatRows } from '../../../gateway/upstream/seats.ts';
import { vertexSeats } from '../../../gateway/upstream/vertex-ai/index.ts';
import { type GoogleTokens, startGoogleTokens } from '../../../simulator/clouds/google-tokens.ts';
import { startVertex, type Vertex } from '../../../simulator/clouds/vertex.ts';
import { type Simulator, startSimulator } from '../../../simulator/server.ts';
import { ask, type Endpoint, errorOf, textOf } from '../../flow/ask.ts';
import { messagesFactsOf } from '../../support/messages-facts.ts';
import { type Rig, type RigTarget, startRig, tableOf, testKey } from '../rig.ts';
import { askForCount } from './ask-for-count.ts';

const apiKey = 'AQ.express-key-0123456789abcdef';
const settings = { project: 'my-project', location: 'europe-west4' };
const place = '/v1/projects/my-project/locations/europe-west4';

let simulator: Simulator;
let tokens: GoogleTokens;
let vertex: Vertex;
let rows: SeatRows;
const rigs: Rig[] = [];

beforeAll(async () => {
  simulator = await startSimulator();
  tokens = await startGoogleTokens();
  const { url: upstream } = simulator;
  vertex = await startVertex({ ...settings, apiKey, upstream, takes: (token) => tokens.takes(token) });
});
afterAll(async () => {
  await vertex[Symbol.asyncDispose]();
  await tokens[Symbol.asyncDispose]();
  await simulator.close();
});
beforeEach(() => {
  rows = new Map([...seatRows, ['VertexAI', vertexSeats(tokens.services)]]);
  Object.assign(tokens, { exchanges: 0, lifetimeS: 3599, isAway: false });
  vertex.calls.length = 0;
  vertex.bodies.length = 0;
});
afterEach(async () => {
  for (const rig of rigs.splice(0)) await rig.close();
});

/** As the operator writes it into the table. */
function accountKey(more: object = {}): string {
  const { client_email, private_key, private_key_id } = { ...tokens.key, ...more };
  return Buffer.from(JSON.stringify({ client_email, private_key, private_key_id })).toString('base64');
}

function target(
  upstreamModel: string,
  dialect: UpstreamDialectName,
  more: Partial<RigTarget> = {},
): RigTarget {
  return {
    baseUrl: vertex.url,
    upstreamModel,
    dialects: [dialect],
    keys: { main: accountKey() },
    ...more,
    providerEntry: {
      type: 'VertexAI',
      dialects: [dialect],
      auth: { header: 'Authorization', prefix: 'Bearer ' },
      settings,
      ...messagesFactsOf('VertexAI'),
      ...more.providerEntry,
    },
  };
}

const gemini = (more: Partial<RigTarget> = {}) => target('gemini-3.8-flash', 'google-generate-content', more);

async function rigOf(...targets: readonly RigTarget[]): Promise<Rig> {
  const endpoints: DialectName[] = [
    'openai-chat',
    'openai-responses',
    'anthropic-messages',
    'openai-completions',
  ];
  const rig = await startRig(tableOf(targets, { endpoints }), { seats: rows });
  rigs.push(rig);
  return rig;
}

const paths = (): string[] => vertex.calls.map(({ path }) => path);

describe('a model is served', () => {
  test.each<[string, UpstreamDialectName, string, string]>([
    [
      'gemini-3.8-flash',
      'google-generate-content',
      '/publishers/google/models/gemini-3.8-flash:generateContent',
      '/publishers/google/models/gemini-3.8-flash:streamGenerateContent?alt=sse',
    ],
    [
      'google/gemini-2.5-flash',
      'google-generate-content',
      '/publishers/google/models/gemini-2.5-flash:generateContent',
      '/publishers/google/models/gemini-2.5-flash:streamGenerateContent?alt=sse',
    ],
    [
      'claude-sonnet-4-5@20250929',
      'anthropic-messages',
      '/publishers/anthropic/models/claude-sonnet-4-5@20250929:rawPredict',
      '/publishers/anthropic/models/claude-sonnet-4-5@20250929:streamRawPredict',
    ],
    [
      'meta/llama-4-maverick-17b-128e-instruct-maas',
      'openai-chat',
      '/endpoints/openapi/chat/completions',
      '/endpoints/openapi/chat/completions',
    ],
    [
      'gemini-3.8-flash',
      'openai-chat',
      '/endpoints/openapi/chat/completions',
      '/endpoints/openapi/chat/completions',
    ],
  ])('%s by %s, for clients of every dialect', async (model, dialect, plain, streamed) => {
    const rig = await rigOf(target(model, dialect));
    const endpoints: Endpoint[] = ['chat', 'responses', 'messages', 'completions'];
    for (const endpoint of endpoints) {
      for (const isStream of [false, true]) {
        const seen = await ask(rig, { endpoint, isStream });
        expect([seen.status, paths().at(-1)]).toEqual([200, place + (isStream ? streamed : plain)]);
        expect(textOf(seen)).not.toBe('');
      }
    }
    expect(tokens.exchanges).toBe(1);
  });

  test('in express mode with an API key, without project and token', async () => {
    const express = gemini({
      keys: { main: apiKey },
      providerEntry: { auth: { header: 'x-goog-api-key', prefix: '' }, settings: {} },
    });
    const rig = await rigOf(express);
    expect((await ask(rig)).status).toBe(200);
    expect(paths()).toEqual(['/v1/publishers/google/models/gemini-3.8-flash:generateContent']);
    expect(tokens.exchanges).toBe(0);
  });

  test('cloud 31: of Claude without betas that it does not know', async () => {
    const rig = await rigOf(target('claude-opus-5', 'anthropic-messages'));
    const headers = {
      'anthropic-version': '2023-06-01',
      'anthropic-beta': 'oauth-2025-04-20,interleaved-thinking-2025-05-14',
    };
    expect((await ask(rig, { endpoint: 'messages', headers })).status).toBe(200);
    expect(simulator.calls().at(-1)?.headers['anthropic-beta']).toBeUndefined();
  });

  test('cloud 31: of Claude with a beta that its Provider names, whatever it is', async () => {
    const headers = [{ name: 'anthropic-beta', value: 'dreams-2027-01-01' }];
    const claude = target('claude-opus-5', 'anthropic-messages', { providerEntry: { headers } });
    const seen = await ask(await rigOf(claude), {
      endpoint: 'messages',
      headers: { 'anthropic-beta': 'context-management-2025-06-27' },
    });
    expect([seen.status, errorOf(seen)?.message]).toEqual([
      400,
      expect.stringContaining('Unexpected value(s) `dreams-2027-01-01` for the `anthropic-beta` header'),
    ]);
  });
});

describe('Claude', () => {
  const claude = target.bind(undefined, 'claude-sonnet-4-5@20250929', 'anthropic-messages');
  const schema = {
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
    additionalProperties: false,
  };
  const forms: Partial<Record<Endpoint, object>> = {
    chat: {
      response_format: { type: 'json_schema', json_schema: { name: 'place', schema, strict: true } },
    },
    responses: { text: { format: { type: 'json_schema', name: 'place', schema, strict: true } } },
  };

  test.each(['chat', 'responses'] as const)(
    'answers %s by a schema through a tool, as the cloud takes no schema',
    async (endpoint) => {
      const rig = await rigOf(claude());
      for (const isStream of [false, true]) {
        const seen = await ask(rig, { endpoint, isStream, more: forms[endpoint] ?? {} });
        expect([seen.status, JSON.parse(textOf(seen))]).toEqual([200, { city: expect.any(String) }]);
        expect(vertex.bodies.at(-1)).not.toHaveProperty('output_config');
        expect(vertex.bodies.at(-1)).toMatchObject({ tool_choice: { type: 'tool', name: 'answer' } });
      }
    },
  );

  test('is asked without `strict` of a tool', async () => {
    const rig = await rigOf(claude());
    const tool = { type: 'function', function: { name: 'look', parameters: schema, strict: true } };
    expect((await ask(rig, { more: { tools: [tool] } })).status).toBe(200);
  });

  test('gets the schema of a messages client as it came, and the client gets the refusal of the cloud', async () => {
    const rig = await rigOf(claude());
    const output_config = { format: { type: 'json_schema', schema } };
    const seen = await ask(rig, { endpoint: 'messages', more: { output_config } });
    expect([seen.status, errorOf(seen)?.message]).toEqual([
      400,
      expect.stringContaining('output_config.format: Extra inputs are not permitted'),
    ]);
    expect(vertex.bodies).toMatchObject([{ output_config }]);
  });
});

test('cloud 4: tokens of a request to Claude are counted at their own path, signed in, without the version of the model', async () => {
  const rig = await rigOf(target('claude-sonnet-4-5@20250929', 'anthropic-messages'));
  const answer = await fetch(`${rig.url}/v1/messages/count_tokens`, {
    method: 'POST',
    headers: {
      'x-api-key': testKey,
      'content-type': 'application/json',
      'anthropic-version': '2023-06-01',
      'anthropic-beta': 'claude-code-20250219,context-1m-2025-08-07,web-search-2025-03-05',
    },
    body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'three plain words' }] }),
  });
  expect([answer.status, await answer.json()]).toEqual([200, { input_tokens: expect.any(Number) }]);
  expect(answer.headers.get('x-penstock-estimated')).toBeNull();
  expect(vertex.calls).toEqual([
    { path: `${place}/publishers/anthropic/models/count-tokens:rawPredict`, isLetIn: true },
  ]);
  expect(vertex.bodies.at(-1)).toMatchObject({ model: 'claude-sonnet-4-5' });
});

test('tokens of a request to Gemini are counted by Google, without the fields that its counter refuses', async () => {
  const rig = await rigOf(gemini());
  const answer = await askForCount(rig);
  expect([answer.status, answer.isEstimated, answer.body]).toEqual([
    200,
    false,
    { input_tokens: expect.any(Number) },
  ]);
  expect(paths()).toEqual([`${place}/publishers/google/models/gemini-3.8-flash:countTokens`]);
  expect(Object.keys(vertex.bodies.at(-1) ?? {})).toEqual(['contents', 'systemInstruction', 'tools']);
});

describe('the token of a service account', () => {
  test('cloud 9: is requested once for a hundred first calls', async () => {
    const rig = await rigOf(gemini());
    const seen = await Promise.all(Array.from({ length: 100 }, () => ask(rig)));
    expect(seen.map(({ status }) => status)).toEqual(Array.from({ length: 100 }, () => 200));
    expect(tokens.exchanges).toBe(1);
  });

  test('is kept when the table changes, and requested again with another key', async () => {
    const rig = await rigOf(gemini());
    await ask(rig);
    rig.offer(tableOf([gemini()]));
    await ask(rig);
    expect(tokens.exchanges).toBe(1);
    rig.offer(tableOf([gemini({ keys: { main: `${accountKey()}\n` } })]));
    await ask(rig);
    expect(tokens.exchanges).toBe(2);
  });

  test('cloud 11: that gets 401 is renewed once, and the request is sent again', async () => {
    const rig = await rigOf(gemini());
    await ask(rig);
    tokens.revoke();
    const seen = await ask(rig, { isStream: true });
    expect(seen.status).toBe(200);
    expect(vertex.calls.map(({ isLetIn }) => isLetIn)).toEqual([true, false, true]);
    expect([tokens.exchanges, rig.records.map(({ outcome }) => outcome)]).toEqual([
      2,
      ['answered', 'answered'],
    ]);
  });

  test('works during an outage of the token service', async () => {
    const rig = await rigOf(gemini());
    await ask(rig);
    tokens.isAway = true;
    const seen = await Promise.all(Array.from({ length: 50 }, () => ask(rig)));
    expect(seen.filter(({ status }) => status !== 200)).toEqual([]);
  });

  test('that gets 401 again is an error of the platform', async () => {
    tokens.lifetimeS = 0;
    const rig = await rigOf(gemini());
    const seen = await ask(rig);
    expect([seen.status, errorOf(seen)?.code]).toEqual([502, 'upstream_auth_failed']);
    expect(vertex.calls).toHaveLength(2);
  });

  test('that Google refuses lets the next target take over, and no text of the exchange is shown', async () => {
    tokens.isAway = true;
    const rig = await rigOf(
      gemini(),
      target('m', 'openai-chat', { baseUrl: `${simulator.url}/v1`, providerEntry: { type: 'OpenAI' } }),
    );
    expect((await ask(rig)).status).toBe(200);
    expect(rig.records.at(-1)).toMatchObject({ outcome: 'answered', target: 't1' });
    const alone = await rigOf(gemini({ keys: { main: accountKey({ client_email: 'other@example.com' }) } }));
    tokens.isAway = false;
    const seen = await ask(alone);
    expect(seen.status).toBe(502);
    expect(seen.text).not.toMatch(/eyJ|BEGIN|other@example/);
  });
});
