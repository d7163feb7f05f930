// A request that arrives on a connection kept open by a running stream, while the gateway is going. Its caller could not know:
// it is served, and is the last on that connection; behind the grace it is asked to come back.

import { expect, test } from 'vitest';
import { makeFakeClock } from '../../support/fake-clock.ts';
import { openRaw, writeRequest } from '../../support/raw-client.ts';
import { startWall } from '../../support/wall.ts';
import { startRig, tableOf } from '../rig.ts';
import { bearer, errorOf, portOf } from './ask.ts';

/** Two streams that wait in the middle, each until it is reported, on a gateway that nobody can connect to any more. */
async function openWhileGoing() {
  const wall = await startWall();
  const rig = await startRig(tableOf([{ baseUrl: wall.baseUrl }]), { drainGraceMs: 60_000 });
  const open = async () => {
    const { promise, resolve: release } = Promise.withResolvers<void>();
    wall.script({ type: 'stall', after: { contentEvents: 2 }, for: { until: promise } });
    const connection = await openRaw({ port: portOf(rig) });
    await connection.send(writeRequest({ path: '/v1/chat/completions', headers: bearer, body: streamed }));
    const running = await connection.answer();
    await running.nextEvent();
    return { connection, running, release };
  };
  const [first, second] = [await open(), await open()];
  wall.script({ type: 'answer' });
  const drained = rig.gateway.drain();
  // The port is closed when nobody can connect any more; from then on the gateway is going.
  await refusal(portOf(rig));
  first.release();
  expect((await first.running.finished).events.at(-1)?.data).toBe('[DONE]');
  return {
    rig,
    connection: first.connection,
    second,
    async end() {
      second.release();
      second.connection.close();
      await drained;
      await rig.close();
      await wall.close();
    },
  };
}

const body = { model: 'm', messages: [{ role: 'user', content: 'x' }] };
const streamed = { ...body, stream: true };

test('a request on an open connection is served after the current answer, and the connection is closed', async () => {
  const { connection, end } = await openWhileGoing();
  await connection.send(writeRequest({ path: '/v1/chat/completions', headers: bearer, body: streamed }));
  const late = await connection.answer();
  expect([late.status, late.headers.connection]).toEqual([200, 'close']);
  expect(late.headers).not.toHaveProperty('keep-alive');
  expect((await late.finished).events.at(-1)?.data).toBe('[DONE]');
  expect(await connection.closed).toBe('fin');
  await end();
});

test('a connection without a further request is closed soon, and no timer is left', async () => {
  const { connection, end } = await openWhileGoing();
  expect(await connection.closed).toBe('fin');
  await end();
});

test('before a drain, each answer lets callers close idle connections earlier than the pod', async () => {
  const rig = await startRig(tableOf([{ baseUrl: 'http://127.0.0.1:9' }]));
  const connection = await openRaw({ port: portOf(rig) });
  for (let request = 0; request < 2; request++) {
    await connection.send(writeRequest({ path: '/v1/models', headers: bearer }));
    const { headers, finished } = await connection.answer();
    await finished;
    expect(headers).toMatchObject({ connection: 'keep-alive', 'keep-alive': 'timeout=5' });
  }
  connection.close();
  await rig.close();
});

test('a late request gets 503 after the grace period', async () => {
  const { rig, connection, second, end } = await openWhileGoing();
  rig.gateway.hurry();
  await second.running.finished;
  await connection.send(writeRequest({ path: '/v1/models', headers: bearer }));
  const late = await connection.answer();
  expect(late.status).toBe(503);
  expect(late.headers).toMatchObject({ 'retry-after': '1', connection: 'close' });
  expect(errorOf(await late.finished)).toMatchObject({ type: 'server_error', code: 'overloaded' });
  expect(await connection.closed).toBe('fin');
  await end();
});

test('a late request is served after a stream, also when the pod accepts no new connections', async () => {
  await using parts = new AsyncDisposableStack();
  const wall = parts.adopt(await startWall(), (one) => one.close());
  const clock = { ...makeFakeClock(1_000_000), wallMs: () => 1_767_225_600_000 };
  const rig = await startRig(tableOf([{ baseUrl: wall.baseUrl }]), { clock, drainAcceptMs: 10_000 });
  const { promise, resolve: release } = Promise.withResolvers<void>();
  wall.script([{ type: 'stall', after: { contentEvents: 2 }, for: { until: promise } }, { type: 'answer' }]);
  const connection = await openRaw({ port: portOf(rig) });
  await connection.send(writeRequest({ path: '/v1/chat/completions', headers: bearer, body: streamed }));
  const running = await connection.answer();
  await running.nextEvent();
  const drained = rig.gateway.drain();
  clock.advance(9_000);
  release();
  await running.finished;
  clock.advance(1_000);
  await refusal(portOf(rig));

  await connection.send(writeRequest({ path: '/v1/chat/completions', headers: bearer, body }));
  const late = await connection.answer();
  expect([late.status, late.headers.connection]).toEqual([200, 'close']);
  await late.finished;
  rig.gateway.hurry();
  await drained;
  await rig.close();
});

async function refusal(port: number): Promise<void> {
  for (;;) {
    try {
      (await openRaw({ port })).close();
    } catch {
      return;
    }
  }
}
