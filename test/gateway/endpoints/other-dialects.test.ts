// A body of one dialect at the address of another: is its sender reported what is missing, and where such a body goes, whatever the model is
// served by? (OpenAI API reference; Anthropic API reference; what editors send to addresses that they let people write.)

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { DialectName } from '../../../core/contract/routing-table.ts';
import { startWall, type Wall } from '../../support/wall.ts';
import { type Rig, startRig, tableOf } from '../rig.ts';
import { post, recordOf } from './ask.ts';

const upstreams = ['openai-chat', 'anthropic-messages', 'openai-responses'] as const satisfies DialectName[];

let wall: Wall;
const rigs = new Map<DialectName, Rig>();

beforeAll(async () => {
  wall = await startWall();
  for (const upstream of upstreams) {
    rigs.set(upstream, await startRig(tableOf([{ baseUrl: wall.baseUrl, dialects: [upstream] }])));
  }
});

afterAll(async () => {
  for (const rig of rigs.values()) await rig.close();
  await wall.close();
});

const messages = [{ role: 'user', content: 'hi' }];
const schema = { type: 'object', properties: {} };
const nested = { type: 'function', function: { name: 'f', parameters: schema } };
const flat = { type: 'function', name: 'f', parameters: schema };
const plain = { name: 'f', input_schema: schema };
const editor = { input: messages, tools: [flat], reasoning: { effort: 'low' }, include: [], stream: true };
const anthropic = { max_tokens: 9, system: 'Be brief.', messages };

const chat = '/v1/chat/completions';
const completions = '/v1/completions';
const responses = '/v1/responses';
const asMessages = '/v1/messages';

const cases: readonly (readonly [string, string, object, string, string])[] = [
  ['what an editor sends', chat, editor, 'messages', responses],
  ['a prompt', chat, { prompt: 'x' }, 'messages', completions],
  ['tools of messages', chat, { ...anthropic, tools: [plain] }, 'tools[0].function', asMessages],
  ['a system text', chat, anthropic, 'system', asMessages],
  [
    'a system text in blocks',
    chat,
    { messages, system: [{ type: 'text', text: 'x' }] },
    'system',
    asMessages,
  ],
  ['a flat tool', chat, { messages, tools: [flat] }, 'tools[0].function', responses],
  ['a flat tool behind another', chat, { messages, tools: [nested, flat] }, 'tools[1].function', responses],
  ['messages', responses, { messages }, 'input', chat],
  ['messages and a system text', responses, anthropic, 'input', asMessages],
  ['a tool of chat', responses, { input: 'x', tools: [nested] }, 'tools[0].name', chat],
  ['a tool of messages', responses, { input: 'x', tools: [plain] }, 'tools[0].name', asMessages],
  ['messages', completions, { messages }, 'prompt', chat],
  ['input', completions, { input: 'x' }, 'prompt', responses],
  ['input', asMessages, { input: 'x', max_tokens: 9 }, 'messages', responses],
  ['a prompt', asMessages, { prompt: 'x', max_tokens: 9 }, 'messages', completions],
  ['the bound of chat', asMessages, { messages, max_completion_tokens: 9 }, 'max_tokens', chat],
  ['a tool of chat', asMessages, { messages, max_tokens: 9, tools: [nested] }, 'tools[0].input_schema', chat],
  ['a flat tool', asMessages, { messages, max_tokens: 9, tools: [flat] }, 'tools[0].input_schema', responses],
  [
    'a flat tool',
    '/v1/messages/count_tokens',
    { messages, tools: [flat] },
    'tools[0].input_schema',
    responses,
  ],
];

describe.each(upstreams)('at an upstream of %s', (upstream) => {
  const ask = (address: string, body: object) => {
    const rig = rigs.get(upstream);
    if (!rig) throw new Error('no gateway');
    return post(rig, address, { model: 'm', ...body });
  };

  test.each(cases)(
    '%s at %s names what is missing, and the address that takes it',
    async (_name, address, body, missing, takenBy) => {
      const before = wall.calls.length;
      const answer = await ask(address, body);
      const error = recordOf(recordOf(answer.json).error);
      expect([answer.status, error.type]).toEqual([400, 'invalid_request_error']);
      expect(String(error.message).startsWith(`'${missing}' is `)).toBe(true);
      expect(String(error.message).endsWith(` goes to POST ${takenBy}.`)).toBe(true);
      if (!address.startsWith(asMessages)) expect(error.param).toBe(missing);
      expect(wall.calls).toHaveLength(before);
    },
  );

  test('a missing member is reported as missing, and not as a body of another dialect', async () => {
    for (const [address, body, words] of [
      [chat, {}, "'messages' is required."],
      [responses, { instructions: 'x' }, "'input' is required."],
      [asMessages, { messages }, "'max_tokens' is required."],
      [completions, { suffix: 'x' }, "'prompt' is required."],
    ] as const) {
      expect(recordOf(recordOf((await ask(address, body)).json).error).message).toBe(words);
    }
  });

  test('tools in the form of their address are taken, and none of a provider is taken for another form', async () => {
    for (const [address, body] of [
      [chat, { messages, system: null, tools: [nested, { ...nested, name: 'g' }] }],
      [chat, { messages, tools: [{ type: 'custom', custom: { name: 'c' } }] }],
      [responses, { input: 'x', tools: [flat, { type: 'custom', name: 'c' }, { type: 'web_search' }] }],
      [asMessages, { messages, max_tokens: 9, tools: [plain, { ...plain, name: 'g', type: 'custom' }] }],
      [asMessages, { messages, max_tokens: 9, tools: [{ type: 'bash_20250124', name: 'bash' }] }],
    ] as const) {
      expect([address, (await ask(address, body)).status]).toEqual([address, 200]);
    }
  });

  test('a list of tools that is too long is checked by the translation, else by its upstream', async () => {
    const long = { ...flat, description: 'x'.repeat(20_000) };
    const answer = await ask(chat, { messages, tools: [long] });
    if (upstream === 'openai-chat') expect(answer.status).toBe(200);
    else {
      const { message, param } = recordOf(recordOf(answer.json).error);
      expect([answer.status, param]).toEqual([400, 'tools[0].function']);
      expect(message).toContain(`goes to POST ${responses}.`);
    }
  });
});
