// Is the sum of the ledger that of the provider's own count when pods and nodes go? Rolling restarts on two nodes, and a drain of the one
// on which the ledger is not: here its records lie in its pod.
//
// PENSTOCK_ROUNDS (default 3) says how many restarts; PENSTOCK_RATE and PENSTOCK_STREAMS (60 each) under how much load.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { type LedgerRecord, ledgerRecordSchema } from '../../../core/contract/ledger-record.ts';
import { until } from '../../support/until.ts';
import { openScorecard } from '../scorecard.ts';
import { type OwnedCluster, openLoadedRelease, startLoad } from './load.ts';
import { openOwnNodes } from './own-nodes.ts';
import { inRelease } from './release.ts';
import { stopwatch } from './stopwatch.ts';

const rounds = Number(process.env.PENSTOCK_ROUNDS ?? 3);
const requestsPerSecond = Number(process.env.PENSTOCK_RATE ?? 60);
const streams = Number(process.env.PENSTOCK_STREAMS ?? 60);
const deployment = 'deployment/penstock-gateway';
const ledger = 'deployment/penstock-ledger';

let cluster: OwnedCluster;
let key: string;
const say = (line: string) => process.stderr.write(`nodes: ${line}\n`);

beforeAll(async () => {
  cluster = await openOwnNodes({ say });
  key = await openLoadedRelease(cluster);
});
afterAll(() => cluster?.stop());

test(`after ${rounds} rolling restarts and a drain every call of the provider is one record, to the token`, async () => {
  const load = await startLoad(cluster, 'sums', { key, requestsPerSecond, streams });
  const before = new Set(await gatewayPods());
  const gone = new Set<string>();
  for (let round = 1; round <= rounds; round++) {
    const since = stopwatch();
    const old = await gatewayPods();
    await cluster.mustKubectl(['rollout', 'restart', deployment, ...inRelease]);
    await settled();
    await cluster.mustKubectl(['wait', ...old, ...inRelease, '--for=delete', '--timeout=3m'], {
      timeoutMs: 200_000,
    });
    for (const pod of old) gone.add(pod);
    say(`restart ${round}: old pods gone after ${since()} s`);
  }
  const ledgersNode = await cluster.mustKubectl([
    ...['get', 'pods', ...inRelease, '-l', 'app.kubernetes.io/component=ledger'],
    ...['-o', 'jsonpath={.items[0].spec.nodeName}'],
  ]);
  const drained = cluster.nodeNames.find((node) => node !== ledgersNode) ?? '';
  const onIt = (await Promise.all((await gatewayPods()).map(nodeAnd))).filter(([, node]) => node === drained);
  await cluster.mustKubectl(
    ['drain', drained, '--ignore-daemonsets', '--delete-emptydir-data', '--timeout=5m'],
    {
      timeoutMs: 310_000,
    },
  );
  await cluster.mustKubectl(['uncordon', drained]);
  await settled();
  say(`${drained} drained, with ${onIt.length} gateways`);
  const figures = await load.stop();

  const { calls, tokens, byEnding } = await until(async () => {
    const { running, models } = await provided();
    return running === 0 && models.demo;
  }, 500);
  let records: readonly LedgerRecord[] = [];
  // Written in groups and pulled; what comes no more is lost.
  const since = stopwatch();
  await until(async () => {
    records = await recorded();
    return records.length >= calls || since() > 60;
  }, 2_000);
  const add = (of: (record: LedgerRecord) => number) => records.reduce((sum, record) => sum + of(record), 0);
  const sums = {
    input: add(({ usage }) => usage.input),
    cached: add(({ usage }) => usage.cachedInput),
    cacheWrite: add(({ usage }) => usage.cacheWrite),
    output: add(({ usage }) => usage.output),
    reasoning: add(({ usage }) => usage.reasoning),
  };
  const ids = new Set(records.map(({ id }) => id));
  const card = openScorecard('the ledger through rolling restarts and a drain, on two nodes');
  const fired = gone.size + onIt.length;
  card.add({
    what: 'upstream calls without a record',
    tried: calls,
    failed: Math.max(0, calls - ids.size),
    fired,
  });
  card.add({
    what: 'records of calls that the provider has not seen',
    tried: records.length,
    failed: Math.max(0, ids.size - calls),
    fired,
  });
  card.add({
    what: 'attempts recorded twice',
    tried: records.length,
    failed: records.length - ids.size,
    fired,
  });
  card.add({
    what: 'counts of our own',
    tried: records.length,
    failed: records.filter(({ isEstimated }) => isEstimated).length,
    fired,
  });
  card.add({
    what: 'kinds of tokens of which the ledger has another sum than the provider',
    tried: Object.keys(sums).length,
    failed: Object.entries(sums).filter(([kind, sum]) => sum !== tokens[kind as keyof typeof sums]).length,
    fired,
    figures: `${JSON.stringify(sums)} by the ledger, ${JSON.stringify(tokens)} by the provider; ${JSON.stringify(byEnding)}`,
  });
  card.add({
    what: 'requests and streams that failed',
    tried: figures.requests + figures.streams,
    failed: figures.failed + figures.cut,
    fired,
    figures: figures.reasons.join('; '),
  });
  card.print();
  expect(card.misses()).toEqual([]);
  expect([...before].filter((pod) => !gone.has(pod))).toEqual([]);
  expect(onIt.length).toBeGreaterThan(0);
});

const tallySchema = z.object({
  calls: z.int(),
  tokens: z.object({
    input: z.int(),
    cached: z.int(),
    cacheWrite: z.int(),
    output: z.int(),
    reasoning: z.int(),
  }),
  byEnding: z.record(z.string(), z.int()),
});
const countsSchema = z.object({ running: z.int(), models: z.object({ demo: tallySchema }) });

/** By the provider itself, which is beside the control plane. */
async function provided() {
  const script = `fetch('http://127.0.0.1:9100/_simulator/counts').then((answer) => answer.text()).then(console.log)`;
  const { stdout } = await cluster.machine.run(process.execPath, ['-e', script]);
  return countsSchema.parse(JSON.parse(stdout));
}

async function recorded(): Promise<readonly LedgerRecord[]> {
  const days = ['--from', '2000-01-01', '--to', '2100-01-01'];
  const text = await cluster.mustKubectl(
    ['exec', ledger, ...inRelease, '--', 'node', 'dist/ledger.js', 'export', '--format', 'jsonl', ...days],
    { timeoutMs: 60_000 },
  );
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => ledgerRecordSchema.parse(JSON.parse(line)));
}

/** All gateways are there and ready. */
async function settled(): Promise<void> {
  await cluster.mustKubectl(['rollout', 'status', deployment, ...inRelease, '--timeout=5m'], {
    timeoutMs: 310_000,
  });
}

async function gatewayPods(): Promise<string[]> {
  const which = [
    'pods',
    '-l',
    'app.kubernetes.io/component=gateway',
    '--field-selector=status.phase=Running',
  ];
  return (await cluster.mustKubectl(['get', ...which, ...inRelease, '-o', 'name'])).trim().split('\n');
}

async function nodeAnd(pod: string): Promise<[string, string]> {
  return [pod, await nodeOf(pod)];
}

function nodeOf(pod: string): Promise<string> {
  return cluster.mustKubectl(['get', pod, ...inRelease, '-o', 'jsonpath={.spec.nodeName}']);
}
