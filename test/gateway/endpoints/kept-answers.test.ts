// What becomes of a streamed answer of which ever more has to be kept while it is translated?

import { afterEach, expect, test } from 'vitest';
import type { GatewayOptions } from '../../../gateway/process/options.ts';
import { until } from '../../support/until.ts';
import { startWall, type Wall } from '../../support/wall.ts';
import { type Rig, startRig, tableOf } from '../rig.ts';
import { post } from './ask.ts';

let wall: Wall;
let rig: Rig;

afterEach(async () => {
  await rig.close();
  await wall.close();
});

const chunk = (delta: object) => `data: ${JSON.stringify({ choices: [{ index: 0, delta }] })}\n\n`;
const long = 'x'.repeat(500_000);
const call = (index: number, input: string, more: object = { id: `c${index}` }) =>
  chunk({
    tool_calls: [
      { index, ...more, function: { name: index === 0 || 'id' in more ? 'f' : '', arguments: input } },
    ],
  });

async function start(
  events: string,
  followedBy: 'fin' | 'hang' = 'fin',
  options: Partial<GatewayOptions> = {},
): Promise<void> {
  const head = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n';
  wall = await startWall({ type: 'raw', bytes: head + events, followedBy });
  rig = await startRig(tableOf([{ baseUrl: wall.baseUrl }]), options);
}

const responses = { model: 'm', input: 'x', stream: true };
const messages = { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'x' }], stream: true };

async function heldBytes(): Promise<number> {
  const text = await rig.gateway.metrics.registry.metrics();
  return Number(/^penstock_held_bytes (\d+)$/m.exec(text)?.[1]);
}

test('an answer whose text is repeated at the end breaks off with an error after 8 MiB', async () => {
  await start(chunk({ content: long }).repeat(30));
  const answer = await post(rig, '/v1/responses', responses);
  expect(answer.text).toMatch(/event: response.failed[\s\S]*event: error/);
  expect(answer.text.match(/output_text\.delta"/g)?.length).toBeLessThan(20);
  expect(rig.records.map(({ outcome, failure }) => [outcome, failure])).toEqual([
    ['broken-off', 'too_large'],
  ]);
  expect(await heldBytes()).toBe(0);
});

test('a call after an unfinished call breaks off with an error', async () => {
  await start(call(0, '{"a":"') + call(1, '{"a":"') + call(1, long, {}).repeat(30));
  const answer = await post(rig, '/v1/messages', messages);
  expect(answer.text).toContain('event: error');
  expect(rig.records.map(({ outcome, failure }) => [outcome, failure])).toEqual([
    ['broken-off', 'too_large'],
  ]);
});

test('kept text counts against the memory of all answers', async () => {
  await start(chunk({ content: long }).repeat(4), 'hang', { bounds: { answerBytesMax: 3_000_000 } });
  const first = post(rig, '/v1/responses', responses);
  await until(async () => (await heldBytes()) >= 2_000_000);
  // The first alone may be as large as it is.
  expect((await post(rig, '/v1/responses', responses)).text).toContain('overloaded');
  await wall.close();
  expect((await first).text).toContain('event: error');
  expect(await heldBytes()).toBe(0);
});
