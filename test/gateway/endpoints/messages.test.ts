// POST /v1/messages: every field inside and outside its bounds, and what an upstream of the same
// dialect is sent: the caller's own bytes and headers, with the model's name changed. (Anthropic API
// reference, "Messages".)

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Answered, bearer, jsonOf, messagesErrorOf, post, recordOf, rowsOf, Spelled } from './ask.ts';
import { type Served, serveFrom } from './served.ts';

const path = '/v1/messages';
const messages = [{ role: 'user', content: 'Say hello' }];
const minimal = { model: 'm', max_tokens: 100, messages };

let served: Served;

beforeAll(async () => {
  served = await serveFrom('anthropic-messages');
});

afterAll(() => served.close());

const sent = (): Record<string, unknown> => recordOf(served.latest().body);

function expectRefused(answer: Answered, param: string): void {
  const { error } = messagesErrorOf(answer);
  expect([answer.status, error.type, error.code]).toEqual([
    400,
    'invalid_request_error',
    'invalid_parameter',
  ]);
  expect(error.message).toContain(`'${param}'`);
}

describe('a field inside its bounds is accepted, and the upstream gets it as it was sent', () => {
  const accepted = rowsOf({
    max_tokens: [1, 1_000_000],
    stream: [false],
    system: ['be kind', [{ type: 'text', text: 'be kind', cache_control: { type: 'ephemeral' } }]],
    stop_sequences: [[], ['a', 'b', 'c', 'd', 'e', 'f']],
    temperature: [0, 1],
    top_p: [0, 1],
    top_k: [0, 40],
    tools: [[], [{ name: 'f', input_schema: { type: 'object' } }]],
    thinking: [{ type: 'disabled' }, { type: 'adaptive' }],
    output_config: [{ effort: 'low' }],
    metadata: [{ user_id: '{"device_id":"d"}' }],
    service_tier: ['auto', 'standard_only'],
    context_management: [{ edits: [] }],
    x_vendor: [null, 5, 'x', { deep: [[[]]] }],
  });

  test.each(accepted)('$name: $shown', async ({ name, value }) => {
    const answer = await post(served.rig, path, { ...minimal, [name]: value });
    expect(answer.status).toBe(200);
    expect(sent()[name]).toEqual(value);
  });
});

describe('a field outside its bounds, or of a wrong type, is refused by name before the upstream is asked', () => {
  const notNumbers = ['1', true, [], {}];
  const refused = rowsOf({
    model: ['', null, 5, [], {}],
    max_tokens: [-1, 1.5, null, new Spelled('1e400'), ...notNumbers],
    messages: [null, 'x', 5, {}],
    stream: ['true', 0, [], {}],
    stop_sequences: ['x', 5, {}],
    temperature: [-0.1, 1.1, ...notNumbers],
    top_p: [-0.1, 1.1, ...notNumbers],
    top_k: [-1, 1.5, ...notNumbers],
    tools: ['x', 5, {}],
    tool_choice: [5, 'auto', []],
    thinking: [5, 'adaptive', []],
    output_config: [5, 'x', []],
    metadata: [5, 'x', []],
    service_tier: [5, {}],
    system: [5, {}, true],
  });

  test.each(refused)('$name: $shown', async ({ name, value }) => {
    const before = served.simulator.calls().length;
    expectRefused(await post(served.rig, path, jsonOf({ ...minimal, [name]: value })), name);
    expect(served.simulator.calls()).toHaveLength(before);
  });

  test.each(['model', 'max_tokens', 'messages'] as const)('%s is required', async (name) => {
    const { [name]: _, ...rest } = minimal;
    expectRefused(await post(served.rig, path, rest), name);
  });

  test.each([
    [{ role: 'robot', content: 'x' }, 'messages[1].role'],
    [{ content: 'x' }, 'messages[1].role'],
    [{ role: 'user' }, 'messages[1].content'],
    [{ role: 'user', content: 5 }, 'messages[1].content'],
    ['hello', 'messages[1]'],
  ])('the message %j is refused as %s', async (message, param) => {
    expectRefused(await post(served.rig, path, { ...minimal, messages: [...messages, message] }), param);
  });
});

describe('the request to the upstream', () => {
  test('differs in the model name alone: order, blanks, spellings and unknown fields stay', async () => {
    const before = '\n{ "x_first" : [1.0, 1E+2, 12345678901234567890], "max_tokens":\t9,"model" :"';
    const after = '" , "messages":[{"role":"user","content":"\\u00fc ü😀"}] } \n';
    const answer = await post(served.rig, path, `${before}m${after}`);
    expect(answer.status).toBe(200);
    expect(sent()).toEqual(JSON.parse(`${before}sim-small${after}`));
  });

  test("has the caller's version and features, and the query of its address", async () => {
    await post(served.rig, `${path}?beta=true`, minimal, {
      ...bearer,
      'anthropic-version': '2026-10-21',
      'anthropic-beta': 'effort-2025-11-24,token-counting-2024-11-01',
      'x-app': 'cli',
      'user-agent': 'claude-cli/2',
      'openai-organization': 'org',
      'x-stainless-lang': 'js',
    });
    const { headers, query } = served.latest();
    expect(query).toBe('beta=true');
    expect(headers).toMatchObject({
      'anthropic-version': '2026-10-21',
      'anthropic-beta': 'effort-2025-11-24,token-counting-2024-11-01',
      'user-agent': 'penstock',
    });
    for (const name of ['x-app', 'openai-organization', 'x-stainless-lang'])
      expect(headers[name]).toBeUndefined();
  });

  test('has the latest version, if the caller names none', async () => {
    const answer = await post(served.rig, path, { ...minimal, temperature: 1 });
    expect(answer.status).toBe(200);
    expect(served.latest().headers['anthropic-version']).toBe('2023-06-01');
  });

  test('has no query of odd letters', async () => {
    const answer = await post(served.rig, `${path}?a=%00&b="<>"`, minimal);
    expect(answer.status).toBe(200);
    expect(served.latest().query).toBe('');
  });
});

test('with a wrong key is refused with the message of this route', async () => {
  const answer = await post(served.rig, path, minimal, { 'x-api-key': `psk_${'x'.repeat(49)}` });
  const { error } = messagesErrorOf(answer);
  expect([answer.status, error.code, answer.headers['x-should-retry']]).toEqual([
    401,
    'invalid_api_key',
    'false',
  ]);
});

test('may have its key in x-api-key, as Anthropic clients send it', async () => {
  const answer = await post(served.rig, path, minimal, { 'x-api-key': `psk_${'k'.repeat(49)}` });
  expect(answer.status).toBe(200);
  expect(answer.json).toMatchObject({ type: 'message', role: 'assistant' });
});
