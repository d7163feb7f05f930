// What does a client see when the gateway holds as many answers as it has room for, or fails while it answers?

import { afterEach, expect, test } from 'vitest';
import type { Journal } from '../../../gateway/meter/journal.ts';
import type { GatewayOptions } from '../../../gateway/process/options.ts';
import { type Behaviour, startWall, type Wall } from '../../support/wall.ts';
import { keyEntry, type Rig, startRig, tableOf } from '../rig.ts';
import { bearer, errorOf, post } from './ask.ts';

const path = '/v1/chat/completions';
const body = { model: 'm', messages: [{ role: 'user', content: 'x' }] };

let wall: Wall;
let rig: Rig;

async function start(behaviour: Behaviour, options: Partial<GatewayOptions>): Promise<void> {
  wall = await startWall(behaviour);
  rig = await startRig(tableOf([{ baseUrl: wall.baseUrl }, { baseUrl: wall.baseUrl }]), options);
}

afterEach(async () => {
  await rig.close();
  await wall.close();
});

async function heldBytes(): Promise<number> {
  const text = await rig.gateway.metrics.registry.metrics();
  return Number(/^penstock_held_bytes (\d+)$/m.exec(text)?.[1]);
}

async function holdsMoreThan(bytes: number): Promise<void> {
  for (let looks = 0; (await heldBytes()) <= bytes; looks++) {
    if (looks > 2_000) throw new Error(`no more than ${await heldBytes()} bytes are held`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

const long = { text: 'word '.repeat(200_000) };
const shorter = { text: 'word '.repeat(1_000) };
const otherKey = `psk_${'o'.repeat(49)}`;

test('an answer without room gets 503 at once, with no retry and no failover', async () => {
  const mayEnd = Promise.withResolvers<void>();
  await start(
    {
      type: 'stall',
      after: { bytes: 130_000 },
      for: { until: mayEnd.promise },
      followedBy: 'go-on',
      answer: long,
    },
    { bounds: { answerBytesMax: 500_000 } },
  );
  const first = post(rig, path, body);
  await holdsMoreThan(120_000);
  const second = await post(rig, path, body);
  expect([second.status, second.headers['retry-after'], second.headers['x-should-retry']]).toEqual([
    503,
    '1',
    'false',
  ]);
  expect(errorOf(second)).toMatchObject({
    code: 'overloaded',
    message: expect.stringContaining('no memory left'),
  });
  expect(wall.calls).toHaveLength(2);
  mayEnd.resolve();
  // Alone it may be larger than all the room there is.
  expect((await first).status).toBe(200);
  expect(rig.records.map(({ outcome, failure }) => [outcome, failure])).toEqual([
    ['failed', 'no_room'],
    ['answered', undefined],
  ]);
  expect(await heldBytes()).toBe(0);
  expect((await post(rig, path, body)).status).toBe(200);
});

test('a key that leaves its answers unread is refused, and others are served', async () => {
  const mayEnd = Promise.withResolvers<void>();
  wall = await startWall((call) =>
    call === wall.calls[0]
      ? {
          type: 'stall',
          after: { bytes: 190_000 },
          for: { until: mayEnd.promise },
          followedBy: 'go-on',
          answer: long,
        }
      : { type: 'answer', ...shorter },
  );
  const table = tableOf([{ baseUrl: wall.baseUrl }]);
  rig = await startRig(
    { ...table, keys: [...table.keys, keyEntry(otherKey, 'team/other')] },
    { bounds: { answerBytesMax: 500_000 } },
  );
  const held = post(rig, path, body);
  await holdsMoreThan(180_000);
  const again = await post(rig, path, body);
  expect([again.status, errorOf(again).code, again.headers['x-should-retry']]).toEqual([
    503,
    'overloaded',
    undefined,
  ]);
  expect(wall.calls, 'nothing was asked for, so nothing is paid').toHaveLength(1);
  const others = await Promise.all(
    [1, 2, 3].map(() => post(rig, path, body, { authorization: `Bearer ${otherKey}` })),
  );
  expect(others.map(({ status }) => status)).toEqual([200, 200, 200]);
  mayEnd.resolve();
  expect((await held).status).toBe(200);
});

test('an error body that arrives slowly takes room too, until it is sent', async () => {
  const head = 'HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\ncontent-length: 100000\r\n\r\n';
  const bytes = `${head}{"error":{"message":"${'long '.repeat(8_000)}`;
  await start({ type: 'raw', bytes, followedBy: 'hang' }, { bounds: { answerBytesMax: 200_000 } });
  const first = post(rig, path, body);
  await holdsMoreThan(39_000);
  const refused = await post(rig, path, body);
  expect([refused.status, errorOf(refused).code, wall.calls.length]).toEqual([503, 'overloaded', 1]);
  expect((await first).status).toBe(400);
  expect(await heldBytes()).toBe(0);
});

test('an internal error in mid-stream is sent as a frame, and logged once', async () => {
  const broken = new TypeError('nobody had thought of this');
  const journal: Journal = {
    begin() {},
    append() {
      throw broken;
    },
    flush: async () => {},
    close: async () => {},
  };
  const logged: unknown[][] = [];
  await start({ type: 'answer', text: 'a b c' }, { journal, onFailure: (...words) => logged.push(words) });
  const answer = await post(
    rig,
    path,
    { ...body, stream: true },
    { ...bearer, 'x-client-request-id': 'mine-12345678' },
  );
  expect(answer.ending).not.toBe('complete');
  expect(answer.text).toMatch(/"content":"c"[\s\S]*"code":"internal_error"/);
  expect(logged).toEqual([[broken, answer.headers['x-request-id'], 'mine-12345678']]);
});
