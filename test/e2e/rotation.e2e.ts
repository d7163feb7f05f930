// Does anybody notice that a provider's credential is replaced, every ten seconds for ten minutes, the old one refused as soon as the
// gateway has the new one? A gateway as a process, 200 requests a second and streams beside them, each replacement a new table.
//
// PENSTOCK_ROTATION_MINUTES (default 10) says how long, PENSTOCK_ROTATION_SECONDS (default 10) how often, PENSTOCK_ROTATION_RATE (default
// 200) how many requests a second: a machine that cannot serve them refuses some with 503, which counts as a failure here.

import { expect, test } from 'vitest';
import { launchListening, makeFolder } from '../gateway/process/gateway-process.ts';
import { tableOf, testKey } from '../gateway/rig.ts';
import { startLoad } from '../support/load/start.ts';
import { until } from '../support/until.ts';
import { startWall } from '../support/wall.ts';
import { openScorecard } from './scorecard.ts';

const minutes = Number(process.env.PENSTOCK_ROTATION_MINUTES ?? 10);
const everySeconds = Number(process.env.PENSTOCK_ROTATION_SECONDS ?? 10);
const requestsPerSecond = Number(process.env.PENSTOCK_ROTATION_RATE ?? 200);

test(`a credential replaced every ${everySeconds} s for ${minutes} min causes no error`, {
  timeout: (minutes + 3) * 60_000,
}, async () => {
  const card = openScorecard(`A credential replaced under ${requestsPerSecond} requests a second`);
  await using parts = new AsyncDisposableStack();
  const folder = await makeFolder();
  parts.defer(() => folder.remove());
  let good = ['sk-0'];
  let refused = 0;
  let served = 0;
  const wall = await startWall(({ headers }) => {
    if (good.some((key) => headers.authorization === `Bearer ${key}`)) {
      served++;
      return { type: 'answer', betweenEvents: { ms: 5 } };
    }
    refused++;
    return { type: 'status', status: 401 };
  });
  parts.defer(() => wall.close());
  const tableAt = (generation: number) => {
    const table = tableOf([{ baseUrl: wall.baseUrl, keys: { main: `sk-${generation - 1}` } }]);
    return { ...table, generation };
  };
  await folder.putTable(tableAt(1));
  const gateway = await launchListening(folder, { PENSTOCK_DRAIN_GRACE_MS: '5000' });
  parts.defer(async () => void (await gateway.process.stop(20_000)));
  await gateway.process.line(/routing table in use/);
  const load = await startLoad({
    urls: [gateway.url],
    key: testKey,
    requestsPerSecond,
    streams: Math.ceil(requestsPerSecond / 10),
    models: { request: 'm', stream: 'm' },
  });
  parts.defer(() => load.kill());
  await load.full();

  const rotations = Math.round((minutes * 60) / everySeconds);
  for (let rotation = 1; rotation <= rotations; rotation++) {
    // Many calls were served with the key of now.
    const [dueAt, enough] = [performance.now() + everySeconds * 1_000, served + requestsPerSecond];
    await until(async () => performance.now() >= dueAt && served >= enough);
    // As a provider has it: the new key is good before anybody is given it.
    good = [`sk-${rotation - 1}`, `sk-${rotation}`];
    const taken = gateway.process.nextLine(/routing table in use/);
    await folder.putTable(tableAt(rotation + 1));
    await taken;
    // From here on the old one is refused, also to calls that were in flight with it.
    good = [`sk-${rotation}`];
  }
  const { requests, failed, streams, cut, p99Ms, reasons } = await load.stop();
  card.add({
    what: 'requests and streams that met a replacement of the credential',
    tried: requests + streams,
    failed: failed + cut,
    fired: rotations,
    figures: `${rotations} replacements; the upstream refused ${refused} calls with the old one and served ${served}; p99 ${p99Ms} ms; ${reasons.join('; ')}`,
  });
  card.print();
  expect(card.misses()).toEqual([]);
  expect(requests).toBeGreaterThan(minutes * 60 * requestsPerSecond * 0.5);
});
