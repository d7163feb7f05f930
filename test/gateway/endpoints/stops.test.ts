// Stop sequences that the gateway has to mind itself: how many, and is the upstream let go?

import { afterAll, beforeAll, expect, test } from 'vitest';
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
