// Connections to the API server that are slow, cut, reset or corrupted, calls that are refused, watches that break or say wrong things:
// do changes arrive, and does nobody who calls a gateway notice? Longer, and with more faults: test/e2e/bad-way.e2e.ts.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Simulator, startSimulator } from '../../../simulator/server.ts';
import { type BadWay, changeOnBadWay, startBadWay } from './bad-way.ts';
import { useInstallation } from './installation.ts';

let way: BadWay | undefined;
const installation = useInstallation({
  operators: 1,
  gateways: 1,
  async way(plane) {
    const linkFaults = ['none', 'delay', 'throttle', 'cut', 'reset', 'corrupt'] as const;
    way = await startBadWay(plane, { seed: 7, linkFaults, canStall: false });
    return way;
  },
});
let simulator: Simulator;

beforeAll(async () => {
  simulator = await startSimulator();
});
afterAll(async () => {
  way?.heal();
  await simulator.close();
});

test('over a slow, lossy connection to the API server every change arrives, and no call fails', async () => {
  const kinds = ['a connection: ', 'a call answered with ', 'a watch: '];
  const firedNow = () => way?.fired() ?? new Map<string, number>();
  const missing = () => kinds.filter((kind) => ![...firedNow().keys()].some((what) => what.startsWith(kind)));
  // How many lines and calls a change takes is another thing each time, and so is what chance makes of them.
  const { asked, bad, tookMs, untrue } = await changeOnBadWay(
    installation(),
    simulator.url,
    4,
    () => way?.harm(),
    () => missing().length === 0,
  );
  const fired = firedNow();
  const faults = [...fired].map(([what, count]) => `${what} ${count}`).join(', ');
  console.log(
    `${bad.length} of ${asked} requests failed; ${tookMs.length} changes took ${tookMs.map(Math.round).join(', ')} ms; faults: ${faults}`,
  );
  expect(bad).toEqual([]);
  expect(untrue).toEqual([]);
  expect(asked).toBeGreaterThan(10);
  expect(missing()).toEqual([]);
}, 240_000);
