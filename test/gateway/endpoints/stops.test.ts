// Stop sequences that the gateway has to mind itself: how many, and is the upstream let go?

import { afterAll, beforeAll, expect, test } from 'vitest';
import { startWall } from '../../support/wall.ts';
import { numbered } from '../dialects/support/response-events.ts';
import { type RigTarget, startRig, tableOf } from '../rig.ts';
import { messagesErrorOf, post } from './ask.ts';
import { type Served, serveFrom } from './served.ts';

let served: Served;

beforeAll(async () => {
  served = await serveFrom('openai-responses', {
    target: { upstreamModel: 'sim-small+text=one%20two%20END%20three' },
  });
});

afterAll(() => served.close());

const asking = (stop_sequences: readonly string[], more: object = {}) =>
  post(served.rig, '/v1/messages', {
    model: 'm',
    max_tokens: 99,
    messages: [{ role: 'user', content: 'hello' }],
    stop_sequences,
    ...more,
  });

test.each([false, true])('an answer ends before the sequence, and says so (stream: %s)', async (stream) => {
  const answer = await asking(['END'], { stream });
  expect(answer.status).toBe(200);
  expect(answer.text).toContain('"stop_reason":"stop_sequence"');
  expect(answer.text).toContain('"stop_sequence":"END"');
  expect(answer.text).not.toContain('three');
});

test('an answer whose upstream fails after the stop sequence, in the same bytes, is complete', async () => {
  const response = { id: 'resp_1', object: 'response', status: 'in_progress', model: 'served', output: [] };
  const error = { code: 'server_error', message: 'late' };
  const bytes = numbered([
    ['response.created', { response }],
    ['response.output_item.added', { output_index: 0, item: { id: 'msg_1', type: 'message', content: [] } }],
    ['response.output_text.delta', { output_index: 0, content_index: 0, delta: 'one two END three' }],
    ['response.failed', { response: { ...response, status: 'failed', error } }],
  ]);
  const head = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n';
  const wall = await startWall({ type: 'raw', bytes: head + bytes, followedBy: 'fin' });
  const dialects: RigTarget['dialects'] = ['openai-responses'];
  const rig = await startRig(tableOf([{ baseUrl: wall.baseUrl, dialects, providerEntry: { dialects } }]));
  try {
    const messages = [{ role: 'user', content: 'hello' }];
    const answer = await post(rig, '/v1/chat/completions', {
      model: 'm',
      messages,
      stop: ['END'],
      stream: true,
    });
    expect(answer.text).toContain('"content":"one two ');
    expect(answer.text).toContain('"finish_reason":"stop"');
    expect(answer.text).not.toContain('"error"');
    expect(answer.text).toMatch(/data: \[DONE\]\n\n$/);
    expect(rig.records).toMatchObject([{ outcome: 'answered' }]);
  } finally {
    await rig.close();
    await wall.close();
  }
});

test.each([
  ['more than 64', Array.from({ length: 65 }, (_, at) => `stop ${at}`)],
  ['longer than 16,384 characters together', ['x'.repeat(16_385)]],
])('%s are refused by name', async (_, stops) => {
  const before = served.simulator.calls().length;
  const answer = await asking(stops);
  expect(answer.status).toBe(400);
  expect(messagesErrorOf(answer).error.message).toContain("'stop_sequences' may hold at most 64 sequences");
  expect(served.simulator.calls()).toHaveLength(before);
});
