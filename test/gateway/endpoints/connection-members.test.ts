// A body cannot say where its request is sent (T5), and what merely sounds like it goes on.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startWall, type Wall } from '../../support/wall.ts';
import { type Rig, startRig, tableOf } from '../rig.ts';
import { errorOf, post } from './ask.ts';

let wall: Wall;
let rig: Rig;
let before = 0;

beforeAll(async () => {
  wall = await startWall();
  rig = await startRig(tableOf([{ baseUrl: wall.baseUrl }]));
});

afterAll(async () => {
  await rig.close();
  await wall.close();
});

beforeEach(() => {
  before = wall.calls.length;
});

const address = 'http://elsewhere.test/v1';
const chat = { model: 'm', messages: [{ role: 'user', content: 'x' }] };
/** So large that it is not parsed. */
const long = { ...chat, messages: [{ role: 'user', content: 'x'.repeat(100_000) }] };
const messages = { ...chat, max_tokens: 9 };

describe('refused, and no upstream is asked', () => {
  test.each<[string, string, object, object]>([
    ['api_base', '/v1/chat/completions', chat, { api_base: address }],
    ['base_url', '/v1/chat/completions', chat, { base_url: address }],
    ['baseURL', '/v1/chat/completions', chat, { baseURL: address }],
    ['s3_endpoint_url', '/v1/chat/completions', chat, { s3_endpoint_url: address }],
    ['API_BASE', '/v1/messages', messages, { API_BASE: address }],
    ['ba\u017fe_url', '/v1/chat/completions', chat, { ba\u017fe_url: address }],
    ['extra_body.api_ba\u017fe', '/v1/chat/completions', chat, { extra_body: { api_ba\u017fe: address } }],
    ['api_base', '/v1/messages/count_tokens', messages, { api_base: address }],
    ['api_base', '/v1/responses', { model: 'm', input: 'x' }, { api_base: address }],
    ['api_base', '/v1/completions', { model: 'm', prompt: 'x' }, { api_base: address }],
    ['user_config', '/v1/chat/completions', chat, { user_config: { model_list: [] } }],
    ['extra_body.api_base', '/v1/chat/completions', chat, { extra_body: { top_k: 1, api_base: address } }],
    ['litellm_params.api_base', '/v1/chat/completions', long, { litellm_params: { api_base: address } }],
    [
      'extra_body.litellm_params.base_url',
      '/v1/chat/completions',
      chat,
      { extra_body: { litellm_params: { base_url: address } } },
    ],
    [
      'fallbacks[1].api_base',
      '/v1/chat/completions',
      chat,
      { fallbacks: ['other', { model: 'x', api_base: address }] },
    ],
    [
      'extra_body.model_list[0].litellm_params.api_base',
      '/v1/chat/completions',
      long,
      { extra_body: { model_list: [{ model_name: 'x', litellm_params: { api_base: address } }] } },
    ],
  ])('%s on %s', async (param, path, body, more) => {
    const answer = await post(rig, path, { ...body, ...more });
    expect(answer.status).toBe(400);
    const message = `The member '${param}' is not accepted: only the platform team decides where requests are sent. Leave it out.`;
    expect(answer.json).toMatchObject({ error: { code: 'invalid_parameter', message } });
    expect(wall.calls.length).toBe(before);
  });

  test('a member with a JSON text that is invalid', async () => {
    const text = JSON.stringify(long).replace(/\}$/, ',"extra_body":{"top_k":.}}');
    const answer = await post(rig, '/v1/chat/completions', text);
    expect([answer.status, errorOf(answer).message]).toEqual([400, 'The body is not valid JSON.']);
    expect(wall.calls.length).toBe(before);
  });
});

test.each<[string, object]>([
  ["a caller's own strings", { metadata: { base_url: 'https://shop.test', api_base: 'eu' } }],
  ['members that stand for others', { extra_body: { top_k: 1 }, litellm_params: null }],
  ['a tool that takes an address', { tools: [tool('fetch', { base_url: { type: 'string' } })] }],
  ['a message about it', { messages: [{ role: 'user', content: '{"api_base":"x"}' }] }],
])('%s go on', async (_, more) => {
  expect((await post(rig, '/v1/chat/completions', { ...chat, ...more })).status).toBe(200);
  expect(wall.calls.at(-1)?.json).toMatchObject(more);
});

function tool(name: string, properties: object): object {
  return { type: 'function', function: { name, parameters: { type: 'object', properties } } };
}
