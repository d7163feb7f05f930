// One tenant holds all the places there are while the event loop is late: what becomes of another one's requests? What the loop shows is the
// test's; under real load, with figures: test/e2e/fairness.e2e.ts.

import { afterEach, beforeEach, expect, test } from 'vitest';
import { openRaw, type RawConnection, rawCall } from '../../support/raw-client.ts';
import { startWall, type Wall } from '../../support/wall.ts';
import { keyEntry, type Rig, startRig, tableOf } from '../rig.ts';
import { errorOf, portOf, post } from './ask.ts';

const path = '/v1/chat/completions';
const body = { model: 'm', messages: [{ role: 'user', content: 'x' }] };
const keyOf = (name: string): string => `psk_${name.padEnd(49, '-')}`;
const greedy = ['greedy0', 'greedy1', 'greedy2', 'greedy3'].map(keyOf);
const modest = keyOf('modest');
const bearerOf = (key: string) => ({ authorization: `Bearer ${key}` });

let wall: Wall;
let rig: Rig;
let mayAnswer: PromiseWithResolvers<void>;
let turnMs: number;
let connections: RawConnection[];

beforeEach(async () => {
  turnMs = 1;
  connections = [];
  mayAnswer = Promise.withResolvers();
  wall = await startWall({ type: 'answer', beforeHeaders: { until: mayAnswer.promise } });
  const table = tableOf([{ baseUrl: wall.baseUrl }], { sharedWith: '*' });
  rig = await startRig(
    {
      ...table,
      routes: table.routes.map((route) => ({ ...route, id: 'platform/m', isPlatform: true })),
      keys: [
        ...greedy.map((key, index) => keyEntry(key, `team-a/key-${index}`)),
        keyEntry(modest, 'team-b/key'),
      ],
    },
    {
      bounds: { turnMaxMs: 50, loopDelayMaxMs: 100 },
      loadMeter: {
        start() {},
        stop() {},
        read: () => ({ turnMs, busyShare: 1, loopDelayMs: undefined, heapShare: 0.1 }),
      },
    },
  );
});

afterEach(async () => {
  mayAnswer.resolve();
  for (const connection of connections) connection.close();
  await rig.close();
  await wall.close();
  expect(rig.failures).toEqual([]);
});

async function metric(name: string): Promise<number> {
  const text = await rig.gateway.metrics.registry.metrics();
  const line = text.split('\n').find((candidate) => candidate.startsWith(`${name} `));
  return Number(line?.slice(name.length + 1));
}

test.each([
  ['one key', greedy.slice(0, 1), 85],
  ['four keys of one tenant', greedy, 22],
])('while %s hold all places, another tenant is answered and they are refused', async (_, keys, each) => {
  const hanging = keys.flatMap((key) =>
    Array.from({ length: each }, () => post(rig, path, body, bearerOf(key))),
  );
  for (const _ of hanging) await wall.nextCall();
  turnMs = 400;
  await expect.poll(() => metric('penstock_requests_in_flight_max'), { timeout: 10_000 }).toBeLessThan(70);
  const refused = await post(rig, path, body, bearerOf(keys[0] ?? ''));
  expect([refused.status, errorOf(refused).code]).toEqual([503, 'overloaded']);
  const served = Array.from({ length: 10 }, () => post(rig, path, body, bearerOf(modest)));
  for (const _ of served) await Promise.race([wall.nextCall(), ...served]);
  mayAnswer.resolve();
  expect((await Promise.all(served)).map(({ status }) => status)).toEqual(served.map(() => 200));
  expect((await Promise.all(hanging)).map(({ status }) => status)).toEqual(hanging.map(() => 200));
  expect(await metric('penstock_shed_total{reason="event_loop"}')).toBe(1);
});

test('a heavy caller is refused before its body is read', async () => {
  const hanging = Array.from({ length: 85 }, () => post(rig, path, body, bearerOf(greedy[0] ?? '')));
  for (const _ of hanging) await wall.nextCall();
  turnMs = 400;
  await expect.poll(() => metric('penstock_requests_in_flight_max'), { timeout: 10_000 }).toBeLessThan(70);
  const connection = await openRaw({ port: portOf(rig) });
  connections.push(connection);
  await connection.send(
    `POST ${path} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${greedy[0]}\r\ncontent-length: 1000\r\n\r\n{`,
  );
  expect((await connection.answer()).status).toBe(503);
  const unknown = { path, headers: { authorization: 'Bearer psk_nobody' }, body };
  expect((await rawCall({ port: portOf(rig) }, unknown)).status, 'as long as others fill it').toBe(503);
  mayAnswer.resolve();
  expect((await Promise.all(hanging)).map(({ status }) => status)).toEqual(hanging.map(() => 200));
});
