// POST /v1/responses: every field inside and outside its bounds, what an upstream of the same dialect
// is sent, and the WebSocket that Codex asks for first. (OpenAI API reference, "Responses".)

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bearer, errorOf, expectRefused, get, jsonOf, post, recordOf, rowsOf, Spelled } from './ask.ts';
import { type Served, serveFrom } from './served.ts';

const path = '/v1/responses';
const minimal = { model: 'm', input: 'Say hello' };

let served: Served;

beforeAll(async () => {
  served = await serveFrom('openai-responses');
});

afterAll(() => served.close());

const sent = (): Record<string, unknown> => recordOf(served.latest().body);

describe('a field inside its bounds is accepted, and the upstream gets it as it was sent', () => {
  const accepted = rowsOf({
    input: [
      'x',
      [{ role: 'user', content: 'x' }],
      [{ type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'x' }] }],
    ],
    instructions: ['be kind'],
    stream: [false],
    max_output_tokens: [16, 1_000_000],
    temperature: [0, 2],
    top_p: [0, 1],
    top_logprobs: [0, 20],
    tools: [[], [{ type: 'function', name: 'f', parameters: null, strict: null }]],
    tool_choice: ['auto', 'none'],
    parallel_tool_calls: [true, false],
    reasoning: [{ effort: 'low', summary: 'auto' }],
    text: [{ format: { type: 'text' }, verbosity: 'low' }],
    include: [['reasoning.encrypted_content']],
    store: [true, false],
    truncation: ['auto', 'disabled'],
    metadata: [{ a: 'b' }],
    user: ['u'],
    safety_identifier: ['s'.repeat(64)],
    prompt_cache_key: ['k'],
    service_tier: ['flex'],
    client_metadata: [{ 'x-codex-turn-metadata': '{}' }],
    x_vendor: [null, 5, { deep: [[[]]] }],
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
    input: [5, true, {}],
    instructions: [5, [], {}],
    stream: ['true', 0, [], {}],
    max_output_tokens: [0, 15, 1.5, new Spelled('1e400'), ...notNumbers],
    temperature: [-0.1, 2.1, ...notNumbers],
    top_p: [-0.1, 1.1, ...notNumbers],
    top_logprobs: [-1, 21, 1.5, ...notNumbers],
    tools: ['x', 5, {}],
    tool_choice: [5, true, []],
    parallel_tool_calls: ['true', 0, []],
    reasoning: [5, 'low', []],
    text: [5, 'x', []],
    include: ['x', 5, {}],
    store: ['true', 0, []],
    truncation: [5, []],
    metadata: ['x', [], { a: 5 }],
    safety_identifier: ['s'.repeat(65), 5],
    prompt_cache_key: [5, []],
    service_tier: [5, []],
    background: ['true', 0, []],
    previous_response_id: [5, {}],
  });

  test.each(refused)('$name: $shown', async ({ name, value }) => {
    const before = served.simulator.calls().length;
    expectRefused(await post(served.rig, path, jsonOf({ ...minimal, [name]: value })), name);
    expect(served.simulator.calls()).toHaveLength(before);
  });

  test('model is required', async () => {
    expectRefused(await post(served.rig, path, { input: 'x' }), 'model');
  });
});

test('no header of Codex itself is sent to the upstream', async () => {
  await post(served.rig, path, minimal, {
    ...bearer,
    originator: 'codex_exec',
    'session-id': 's',
    'thread-id': 't',
    'x-codex-turn-metadata': '{"workspace":"w"}',
    'openai-organization': 'org',
    'openai-beta': 'responses_websockets=2026-02-06',
  });
  const { headers } = served.latest();
  for (const name of [
    'originator',
    'session-id',
    'thread-id',
    'x-codex-turn-metadata',
    'openai-organization',
    'openai-beta',
  ]) {
    expect(headers[name]).toBeUndefined();
  }
});

describe('a reference to stored state', () => {
  test('is accepted for a model with one provider', async () => {
    const answer = await post(served.rig, path, { ...minimal, previous_response_id: 'resp_1' });
    expect(sent().previous_response_id).toBe('resp_1');
    // This provider does not have it; that is its own to say.
    expect(answer.status).not.toBe(500);
  });

  test('is refused if several providers serve the model', async () => {
    const two = await serveFrom('openai-responses', {
      target: { keys: { a: 'key-of-provider-a', b: 'key-of-provider-b' } },
    });
    try {
      const answer = await post(two.rig, path, { ...minimal, previous_response_id: 'resp_1' });
      expect(expectRefused(answer, 'previous_response_id')).toContain('Send the whole conversation');
      expect(two.simulator.calls()).toHaveLength(0);
    } finally {
      await two.close();
    }
  });

  test.each([
    { previous_response_id: 'resp_1' },
    { conversation: 'conv_1' },
    { background: true },
    { prompt: { id: 'p' } },
  ])('is refused for an upstream of another dialect: %j', async (more) => {
    const chat = await serveFrom('openai-chat');
    try {
      const answer = await post(chat.rig, path, { ...minimal, ...more });
      expect([answer.status, errorOf(answer)]).toEqual([
        400,
        expect.objectContaining({ code: 'unsupported_parameter', param: Object.keys(more)[0] }),
      ]);
    } finally {
      await chat.close();
    }
  });
});

describe('GET', () => {
  test('with an upgrade gets 426, so that Codex continues with HTTP at once', async () => {
    const answer = await get(served.rig, path, { ...bearer, connection: 'upgrade', upgrade: 'websocket' });
    expect([answer.status, errorOf(answer).code, answer.headers['x-should-retry']]).toEqual([
      426,
      'upgrade_not_supported',
      'false',
    ]);
  });

  test('without one is no method of this route', async () => {
    const answer = await get(served.rig, path, bearer);
    expect([answer.status, answer.headers.allow]).toEqual([405, 'POST']);
  });
});
