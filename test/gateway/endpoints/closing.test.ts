// A request that arrives on a connection kept open by a running stream, while the gateway is going: told to come back,
// in the shape of the specification.

import { expect, test } from 'vitest';
import { openRaw, writeRequest } from '../../support/raw-client.ts';
import { startWall } from '../../support/wall.ts';
import { startRig, tableOf } from '../rig.ts';
import { bearer, errorOf, portOf } from './ask.ts';

test('it gets 503 behind the answer under way, and the connection is closed', async () => {
  const held = Promise.withResolvers<void>();
  const wall = await startWall({ type: 'stall', after: { contentEvents: 2 }, for: { until: held.promise } });
  const rig = await startRig(tableOf([{ baseUrl: wall.baseUrl }]), { drainGraceMs: 60_000 });
  const connection = await openRaw({ port: portOf(rig) });
  const body = { model: 'm', stream: true, messages: [{ role: 'user', content: 'x' }] };
  await connection.send(writeRequest({ path: '/v1/chat/completions', headers: bearer, body }));
  const running = await connection.answer();
  await running.nextEvent();

  const drained = rig.gateway.drain();
  // The port is closed when nobody can connect any more; from then on the gateway is going.
  await refusal(portOf(rig));
  await connection.send(writeRequest({ path: '/v1/models', headers: bearer }));
  held.resolve();

  expect((await running.finished).events.at(-1)?.data).toBe('[DONE]');
  const late = await connection.answer();
  expect(late.status).toBe(503);
  expect(late.headers).toMatchObject({ 'retry-after': '1', connection: 'close' });
  expect(errorOf(await late.finished)).toMatchObject({ type: 'server_error', code: 'overloaded' });
  expect(await connection.closed).toBe('fin');
  await drained;
  await wall.close();
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
