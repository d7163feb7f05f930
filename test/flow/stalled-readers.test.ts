// How much do many readers take of a gateway's memory when they stop reading? 500 of them, and a gateway with the memory and the core of
// its pod: test/e2e/overload.e2e.ts.

import { expect, test } from 'vitest';
import { readResident } from '../e2e/scale/readings.ts';
import { launchListening, makeFolder } from '../gateway/process/gateway-process.ts';
import { tableOf, testKey } from '../gateway/rig.ts';
import { stallReaders } from '../support/attack/slow-clients.ts';
import { until } from '../support/until.ts';
import { startWall } from '../support/wall.ts';
import { ask } from './ask.ts';
import { expectWhole } from './fault-matrix.ts';

const readers = 25;
/** More than the kernel takes for two connections; for all of them as much as no gateway has. */
const megabytes = 32;
const tokens = Array.from({ length: megabytes * 64 }, () => `${'x'.repeat(16 * 1024 - 1)} `);

test(`${readers} stalled readers: their upstreams wait, little of the answers is held, and others are served`, {
  timeout: 300_000,
}, async () => {
  await using parts = new AsyncDisposableStack();
  const wall = await startWall({ type: 'answer', tokens });
  parts.defer(() => wall.close());
  const folder = await makeFolder();
  parts.defer(() => folder.remove());
  await folder.putTable(tableOf([{ baseUrl: wall.baseUrl }]));
  const gateway = await launchListening(folder);
  parts.defer(async () => void (await gateway.process.stop(20_000)));
  await gateway.process.line(/routing table in use/);
  // What one long stream leaves behind a process has anyway.
  expect((await ask(gateway, { isStream: true })).ending).toBe('last-chunk');
  const before = await readResident(gateway.process);

  const port = Number(new URL(gateway.url).port);
  const attack = stallReaders({ port, authorization: `Bearer ${testKey}`, model: 'm' }, readers);
  parts.defer(async () => attack.stop());
  await until(async () => wall.calls.length > readers);
  let last = -1;
  // Until nothing moves any more: what is stuck in kernel buffers gives no event.
  await until(async () => {
    const written = wall.calls.reduce((sum, { bytesWritten }) => sum + bytesWritten, 0);
    const isStill = written === last;
    last = written;
    return isStill;
  }, 500);
  const after = await readResident(gateway.process);
  expect([attack.open(), attack.ended()]).toEqual([readers, 0]);
  expect(wall.calls.filter(({ end }) => end === undefined)).toHaveLength(readers);
  expect(after.peakMib - before.nowMib).toBeLessThan(128);
  wall.script({ type: 'answer' });
  expectWhole(await ask(gateway, { isStream: true }), 'stream');
});
