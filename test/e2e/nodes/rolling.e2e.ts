// Does anybody who calls notice rolling restarts? On two nodes, through the Service and kube-proxy, ended by real kubelets: three in
// a row, under 200 requests a second and 200 open streams.
//
// PENSTOCK_ROUNDS (default 3) says how many; PENSTOCK_RATE and PENSTOCK_STREAMS (200 each) under how many requests a second and how
// many streams. A machine that cannot answer so many fails for that alone.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { RELEASE_NAMESPACE } from '../../charts/helm.ts';
import { openScorecard } from '../scorecard.ts';
import { type OwnedCluster, openLoadedRelease, startLoad } from './load.ts';
import { openOwnNodes } from './own-nodes.ts';
import { inRelease } from './release.ts';
import { stopwatch } from './stopwatch.ts';

const rounds = Number(process.env.PENSTOCK_ROUNDS ?? 3);
const requestsPerSecond = Number(process.env.PENSTOCK_RATE ?? 200);
const streams = Number(process.env.PENSTOCK_STREAMS ?? 200);
/** Enough of them for what is claimed; a shorter run is a look at the script. */
const isWhole = rounds >= 3 && requestsPerSecond >= 200 && streams >= 200;
const deployment = 'deployment/penstock-gateway';

let cluster: OwnedCluster;
let key: string;
const say = (line: string) => process.stderr.write(`nodes: ${line}\n`);

beforeAll(async () => {
  cluster = await openOwnNodes({ say });
  key = await openLoadedRelease(cluster);
});
afterAll(() => cluster?.stop());

test(`${rounds} rolling restarts fail no request and cut no stream`, async () => {
  const load = await startLoad(cluster, 'rolling', { key, requestsPerSecond, streams });
  let replaced = 0;
  for (let round = 1; round <= rounds; round++) {
    const before = await podNames();
    const since = stopwatch();
    await cluster.mustKubectl(['rollout', 'restart', deployment, ...inRelease]);
    await cluster.mustKubectl(['rollout', 'status', deployment, ...inRelease, '--timeout=5m'], {
      timeoutMs: 310_000,
    });
    const rolledS = since();
    // The old ones, until each has ended its streams.
    await cluster.mustKubectl(['wait', ...before, ...inRelease, '--for=delete', '--timeout=3m'], {
      timeoutMs: 200_000,
    });
    const now = await podNames();
    replaced += before.filter((pod) => !now.includes(pod)).length;
    say(`restart ${round}: new pods after ${rolledS} s, old ones gone after ${since()} s`);
  }
  const figures = await load.stop();
  const card = openScorecard('rolling restarts on two nodes');
  const inWords = `p50 ${figures.p50Ms} ms, p99 ${figures.p99Ms} ms, ${figures.maxMs} ms at most; ${figures.reasons.join('; ')}`;
  card.add({
    what: 'requests',
    tried: figures.requests,
    failed: figures.failed,
    fired: replaced,
    figures: inWords,
  });
  card.add({
    what: 'streams',
    tried: figures.streams,
    failed: figures.cut,
    fired: replaced,
    figures: `longest silence ${figures.worstGapMs} ms`,
  });
  card.print();
  expect(card.misses()).toEqual([]);
  expect(replaced).toBe(rounds * 3);
  if (isWhole) {
    expect(figures.requests).toBeGreaterThanOrEqual(20_000);
    expect(figures.streams).toBeGreaterThanOrEqual(500);
  }
});

async function podNames(): Promise<string[]> {
  const gateways = ['-l', 'app.kubernetes.io/component=gateway'];
  const names = await cluster.mustKubectl([
    'get',
    'pods',
    ...gateways,
    '-n',
    RELEASE_NAMESPACE,
    '-o',
    'name',
  ]);
  return names.trim().split('\n');
}
