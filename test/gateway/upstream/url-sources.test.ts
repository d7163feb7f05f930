// Where does an image or a document by URL go, if a cloud takes base64 alone for Claude? To a target that takes URLs; else the request is
// refused before any call.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { ProviderType } from '../../../core/catalog/provider-types.ts';
import type { UpstreamDialectName } from '../../../core/contract/routing-table.ts';
import { seatRows } from '../../../gateway/upstream/seats.ts';
import { vertexSeats } from '../../../gateway/upstream/vertex-ai/index.ts';
import { type Bedrock, startBedrock } from '../../../simulator/clouds/bedrock.ts';
import { type GoogleTokens, startGoogleTokens } from '../../../simulator/clouds/google-tokens.ts';
import { startVertex, type Vertex } from '../../../simulator/clouds/vertex.ts';
import { type Simulator, startSimulator } from '../../../simulator/server.ts';
import { type AskOptions, ask, errorOf } from '../../flow/ask.ts';
import { messagesFactsOf } from '../../support/messages-facts.ts';
import { type Rig, type RigTarget, startRig, tableOf } from '../rig.ts';

const key = 'bedrock-api-key-of-the-account-0123456789';
const settings = { project: 'my-project', location: 'europe-west4' };
const [atBedrock, atVertex] = ['us.anthropic.claude-sonnet-4-5-20250929-v1:0', 'claude-sonnet-4-5@20250929'];

let simulator: Simulator;
let tokens: GoogleTokens;
let bedrock: Bedrock;
let vertex: Vertex;
let rig: Rig | undefined;

beforeAll(async () => {
  simulator = await startSimulator();
  tokens = await startGoogleTokens();
  const { url: upstream } = simulator;
  bedrock = await startBedrock({ key, models: { [atBedrock]: 'sim' }, upstream });
  vertex = await startVertex({ ...settings, upstream, takes: (token) => tokens.takes(token) });
});
afterAll(async () => {
  for (const front of [bedrock, vertex, tokens]) await front[Symbol.asyncDispose]();
  await simulator.close();
});
beforeEach(() => {
  bedrock.calls.length = 0;
  vertex.calls.length = 0;
});
afterEach(async () => {
  await rig?.close();
  rig = undefined;
});

type Cloud = Extract<ProviderType, 'Bedrock' | 'VertexAI'>;

function claudeAt(type: Cloud): RigTarget {
  const { client_email, private_key, private_key_id } = tokens.key;
  const account = Buffer.from(JSON.stringify({ client_email, private_key, private_key_id })).toString(
    'base64',
  );
  return {
    baseUrl: type === 'Bedrock' ? bedrock.url : vertex.url,
    upstreamModel: type === 'Bedrock' ? atBedrock : atVertex,
    dialects: ['anthropic-messages'],
    keys: { main: type === 'Bedrock' ? key : account },
    providerEntry: {
      type,
      dialects: ['anthropic-messages'],
      auth: { header: 'Authorization', prefix: 'Bearer ' },
      settings: type === 'Bedrock' ? {} : settings,
      ...messagesFactsOf(type),
    },
  };
}

/** A provider that fetches URLs. */
function fetching(dialect: UpstreamDialectName): RigTarget {
  return {
    baseUrl: `${simulator.url}/v1`,
    upstreamModel: 'sim',
    dialects: [dialect],
    providerEntry: { dialects: [dialect] },
  };
}

async function rigOf(...targets: readonly RigTarget[]): Promise<Rig> {
  const seats = new Map([...seatRows, ['VertexAI', vertexSeats(tokens.services)] as const]);
  rig = await startRig(tableOf(targets), { seats });
  return rig;
}

const callsOf = (type: Cloud): number => (type === 'Bedrock' ? bedrock : vertex).calls.length;

const url = 'https://example.com/a';
const text = { type: 'text', text: 'What is this?' };
const source = { type: 'url', url };
const inMessages = (...content: readonly object[]) => ({ messages: [{ role: 'user', content }] });
const image = inMessages(text, { type: 'image', source });
const pdf = inMessages(text, { type: 'document', source });
const asked: Readonly<Record<string, AskOptions & { readonly param: string }>> = {
  'an image in chat': {
    endpoint: 'chat',
    more: inMessages(text, { type: 'image_url', image_url: { url } }),
    param: 'messages[0].content[1].image_url.url',
  },
  'an image in responses': {
    endpoint: 'responses',
    more: { input: [{ role: 'user', content: [{ type: 'input_image', image_url: url }] }] },
    param: 'input[0].content[0].image_url',
  },
  'a file in responses': {
    endpoint: 'responses',
    more: { input: [{ role: 'user', content: [{ type: 'input_file', file_url: url }] }] },
    param: 'input[0].content[0].file_url',
  },
};

describe.each<Cloud>(['Bedrock', 'VertexAI'])('Claude at %s', (type) => {
  test.each(Object.entries(asked))(
    '%s by URL is refused by name, without a call',
    async (_, { param, ...options }) => {
      const seen = await ask(await rigOf(claudeAt(type)), options);
      expect([seen.status, errorOf(seen)?.code]).toEqual([400, 'unsupported_parameter']);
      expect(errorOf(seen)?.message).toMatch(/by URL\. Send it as base64/);
      expect(seen.text).toContain(param);
      expect(callsOf(type)).toBe(0);
    },
  );

  test.each(Object.entries(asked))(
    '%s by URL goes to the next target, which takes it',
    async (_, options) => {
      const made = await rigOf(claudeAt(type), fetching('anthropic-messages'));
      expect((await ask(made, options)).status).toBe(200);
      expect(made.records.map(({ target, outcome }) => [target, outcome])).toEqual([['t1', 'answered']]);
      expect(callsOf(type)).toBe(0);
      expect((await ask(made)).status).toBe(200);
      expect(callsOf(type)).toBe(1);
    },
  );

  test('an image by URL in messages goes to a target of another dialect, where the route has one', async () => {
    const made = await rigOf(claudeAt(type), fetching('openai-responses'));
    for (const more of [image, pdf])
      expect((await ask(made, { endpoint: 'messages', more })).status).toBe(200);
    expect(made.records.map(({ target }) => target)).toEqual(['t1', 't1']);
    expect(callsOf(type)).toBe(0);
  });

  test.each([
    ['an image', image],
    ['a document', pdf],
  ])(
    '%s by URL in messages passes unread, where every target speaks messages, and the cloud refuses it',
    async (_, more) => {
      const made = await rigOf(claudeAt(type), fetching('anthropic-messages'));
      const seen = await ask(made, { endpoint: 'messages', more });
      expect([seen.status, errorOf(seen)?.message]).toEqual([
        400,
        expect.stringContaining("Input should be 'base64'"),
      ]);
      expect(callsOf(type)).toBe(1);
    },
  );
});
