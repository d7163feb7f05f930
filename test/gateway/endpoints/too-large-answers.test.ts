// What does an honest answer do that is larger than we take? Its caller learns which bound it is over; nobody else notices, for the
// upstream did what it was asked. Before, a caller of log probabilities opened the breakers of a model that others use.

import { createServer, type RequestListener, type Server } from 'node:http';
import { afterEach, expect, test } from 'vitest';
import { type Rig, startRig, tableOf } from '../rig.ts';
import { errorOf, post } from './ask.ts';

const open: Server[] = [];
let rig: Rig;

/** Base URL of an upstream that counts what it is asked. */
async function startUpstream(listen: RequestListener): Promise<string> {
  const server = createServer(listen);
  open.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}/v1`;
}

afterEach(async () => {
  await rig.close();
  for (const server of open.splice(0)) {
    server.closeAllConnections();
    await new Promise((closed) => server.close(closed));
  }
});

/** More calls in a row than open a breaker. */
const calls = 6;

test('log probabilities above the limit get an error after one call each, and the model stays in service', async () => {
  const word = { token: 'a', logprob: -1, bytes: [97] };
  const logprobs = { content: Array(6_200).fill({ ...word, top_logprobs: Array(20).fill(word) }) };
  const choice = { index: 0, message: { role: 'assistant', content: 'a' }, finish_reason: 'stop' };
  const small = JSON.stringify({ object: 'chat.completion', choices: [choice] });
  const dense = JSON.stringify({ object: 'chat.completion', choices: [{ ...choice, logprobs }] });
  let asked = 0;
  const baseUrl = await startUpstream((request, response) => {
    asked++;
    let body = '';
    request.on('data', (part) => {
      body += part;
    });
    request.once('end', () => {
      response.setHeader('content-type', 'application/json');
      response.end(body.includes('"logprobs":true') ? dense : small);
    });
  });
  rig = await startRig(tableOf([{ baseUrl }, { baseUrl }]));
  const body = { model: 'm', messages: [{ role: 'user', content: 'x' }] };
  for (let call = 1; call <= calls; call++) {
    const answer = await post(rig, '/v1/chat/completions', { ...body, logprobs: true, top_logprobs: 20 });
    expect([answer.status, answer.headers['x-should-retry'], asked]).toEqual([502, 'false', call]);
    expect(errorOf(answer)).toMatchObject({
      code: 'answer_too_large',
      message: expect.stringContaining('1000000 structural characters'),
    });
  }
  expect(new Set(rig.records.map(({ failure }) => failure))).toEqual(new Set(['too_large']));
  const innocent = await post(rig, '/v1/chat/completions', body);
  expect([innocent.status, innocent.headers['x-penstock-provider']]).toEqual([200, 'platform/p0']);
});

test.each([
  ['1.2 MB of instructions go through', 1_200_000, 200],
  ['4 MiB of them are too much, and the model stays in service', 4 * 1024 * 1024, 502],
])('responses that repeat the instructions: %s', async (_, length, status) => {
  const baseUrl = await startUpstream((request, response) => {
    let body = '';
    request.on('data', (part) => {
      body += part;
    });
    request.once('end', () => {
      const { instructions = null } = JSON.parse(body);
      response.setHeader('content-type', 'text/event-stream');
      const reported = { id: 'resp_1', object: 'response', created_at: 1, model: 'u', instructions };
      const item = { id: 'msg_1', type: 'message', role: 'assistant' };
      const part = { type: 'output_text', text: 'hello', annotations: [] };
      const output = [{ ...item, status: 'completed', content: [part] }];
      const events = [
        { type: 'response.created', response: { ...reported, status: 'in_progress', output: [] } },
        { type: 'response.in_progress', response: { ...reported, status: 'in_progress', output: [] } },
        {
          type: 'response.output_text.delta',
          item_id: 'msg_1',
          output_index: 0,
          content_index: 0,
          delta: 'hello',
        },
        { type: 'response.completed', response: { ...reported, status: 'completed', output } },
      ];
      for (const event of events) response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
      response.end();
    });
  });
  const providerEntry = { dialects: ['openai-responses' as const] };
  rig = await startRig(
    tableOf([
      { baseUrl, ...providerEntry, providerEntry },
      { baseUrl, ...providerEntry, providerEntry },
    ]),
  );
  const body = { model: 'm', input: 'hi', stream: true };
  for (let call = 1; call <= calls; call++) {
    const answer = await post(rig, '/v1/responses', { ...body, instructions: 'y'.repeat(length) });
    expect([answer.status, rig.records.length]).toEqual([status, call]);
    expect(answer.text).toContain(status === 200 ? 'event: response.completed' : 'longer than 4194304 bytes');
  }
  expect((await post(rig, '/v1/responses', body)).status).toBe(200);
});
