// Does what OpenAI takes reach every release of Claude? The simulator refuses what each of them refuses.

import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Simulator, startSimulator } from '../../simulator/server.ts';
import { type Rig, startRig, tableOf, testKey } from '../gateway/rig.ts';

const releases = [
  'claude-3-7-sonnet-20250219',
  'claude-sonnet-4-5',
  'claude-opus-4-6',
  'claude-opus-4-8',
  'claude-fable-5-1',
  'claude-opus-5-5',
  'glm-5',
] as const;

let simulator: Simulator;
let rig: Rig;

beforeAll(async () => {
  simulator = await startSimulator();
  const tables = releases.map((release) =>
    tableOf(
      [
        {
          baseUrl: `${simulator.url}/v1`,
          provider: 'platform/claude',
          providerEntry: { dialects: ['anthropic-messages'] },
          dialects: ['anthropic-messages'],
          upstreamModel: release,
        },
      ],
      {
        id: `team/${release}`,
        model: release,
        endpoints: ['openai-chat', 'openai-responses', 'anthropic-messages'],
      },
    ),
  );
  rig = await startRig({
    ...tableOf([]),
    providers: tables[0]?.providers ?? [],
    routes: tables.flatMap(({ routes }) => routes),
  });
});

afterAll(async () => {
  await rig.close();
  await simulator.close();
});

type Asked = Partial<OpenAI.ChatCompletionCreateParamsNonStreaming>;

async function ask(model: string, members: Asked): Promise<string> {
  const openai = new OpenAI({ baseURL: rig.baseUrl, apiKey: testKey, maxRetries: 0 });
  const answer = await openai.chat.completions.create({ model, messages: [user], ...members });
  return answer.choices[0]?.message.content ?? '';
}

const user = { role: 'user', content: 'hi' } as const;
const assistant = { role: 'assistant', content: 'Sure, ' } as const;
const schemas = {
  'a map': {
    type: 'object',
    properties: { scores: { type: 'object', additionalProperties: { type: 'number' } } },
    required: ['scores'],
  },
  'a free object': { type: 'object' },
  'a schema that contains itself': {
    type: 'object',
    properties: { name: { type: 'string' }, next: { anyOf: [{ type: 'null' }, { $ref: '#' }] } },
    required: ['name'],
    additionalProperties: false,
  },
  'a closed schema': {
    type: 'object',
    properties: { age: { type: 'integer', minimum: 0, maximum: 150 }, kind: { oneOf: [{ type: 'string' }] } },
    required: ['age'],
    additionalProperties: false,
  },
};

describe.each(releases)('%s', (model) => {
  test.each([
    ['begins with the assistant', [assistant, user]],
    ['ends with the assistant', [user, assistant]],
    ['is the assistant alone', [assistant]],
  ])('takes a conversation that %s', async (_, messages) => {
    expect(await ask(model, { messages })).toContain('simulator');
  });

  test('answers JSON mode with a JSON object', async () => {
    const answer = JSON.parse(await ask(model, { response_format: { type: 'json_object' } }));
    expect(answer).toEqual(expect.any(Object));
  });

  test.each(Object.entries(schemas))('answers %s with an object of it', async (_, schema) => {
    const format = { type: 'json_schema', json_schema: { name: 'answer', schema } } as const;
    const answer = JSON.parse(await ask(model, { response_format: format }));
    expect(Object.keys(answer)).toEqual('required' in schema ? schema.required : []);
  });
});
