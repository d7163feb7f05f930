// A message that says nothing, and not how it ended, is no answer, whatever the caller speaks and however it asked: the next
// provider is asked.

import { afterEach, expect, test } from 'vitest';
import type { DialectName } from '../../../core/contract/routing-table.ts';
import { startWall, type Wall } from '../../support/wall.ts';
import { named } from '../dialects/support/named-events.ts';
import { type Rig, startRig, tableOf } from '../rig.ts';
import { post } from './ask.ts';

let walls: Wall[] = [];
let rig: Rig;

afterEach(async () => {
  await rig.close();
  await Promise.all(walls.map((wall) => wall.close()));
});

const message = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'u',
  content: [],
  stop_reason: null,
  usage: { input_tokens: 1, output_tokens: 0 },
};
const streamed = named('message_start', { message }) + named('message_stop');

test.each([
  ['/v1/chat/completions', true],
  ['/v1/chat/completions', false],
  ['/v1/messages', true],
  ['/v1/messages', false],
])('%s, stream: %s', async (path, stream) => {
  const body = stream ? streamed : JSON.stringify(message);
  const type = stream ? 'text/event-stream' : 'application/json';
  const head = `HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n`;
  walls = await Promise.all([
    startWall({ type: 'raw', bytes: head + body, followedBy: 'keep-alive' }),
    startWall({ type: 'answer', text: 'said by the second' }),
  ]);
  const dialects: DialectName[] = ['anthropic-messages'];
  rig = await startRig(
    tableOf(
      walls.map(({ baseUrl }, priority) => ({ baseUrl, priority, dialects, providerEntry: { dialects } })),
    ),
  );
  const asked = { model: 'm', max_tokens: 10, messages: [{ role: 'user', content: 'x' }], stream };
  const answer = await post(rig, path, asked);
  expect([answer.status, answer.headers['x-penstock-attempts']]).toEqual([200, '2']);
  expect(rig.records.map(({ outcome, failure }) => [outcome, failure])).toEqual([
    ['failed', 'malformed'],
    ['answered', undefined],
  ]);
});
