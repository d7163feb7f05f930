// Who spends what, of fifty thousand keys that are all in use? A real ledger in which every one of them has records, a real operator with the
// memory of a pod, and kubectl. Spend is written slowly; other writes do not wait for it.
//
// PENSTOCK_KEYS (default 50000) says how many, PENSTOCK_USAGE_SECONDS (default 120) for how long the writes are watched.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createObject, mergePatch } from '../../core/kube/patch.ts';
import { openSqliteStore } from '../../ledger/store/sqlite.ts';
import { buildDist } from '../../tools/pack/bundles.ts';
import { apiKeyPath, createAll } from '../flow/cluster/bulk.ts';
import { quantile } from '../flow/cluster/figures.ts';
import { type Installation, type OperatorProcess, startInstallation } from '../flow/cluster/installation.ts';
import { importedApiKey, namespaceOf } from '../flow/cluster/manifests.ts';
import { readMetrics } from '../flow/cluster/readings.ts';
import { makeEntry } from '../ledger/make-entry.ts';
import { until } from '../support/until.ts';
import { load, probedNode, readProbe, readResident } from './scale/readings.ts';
import { openScorecard, type Scorecard } from './scorecard.ts';

const keyCount = Number(process.env.PENSTOCK_KEYS ?? 50_000);
const watchedSeconds = Number(process.env.PENSTOCK_USAGE_SECONDS ?? 120);
const teams = Array.from({ length: 50 }, (_, index) => `team-${index}`);
const keys = Array.from({ length: keyCount }, (_, index) => ({
  namespace: teams[index % teams.length] ?? '',
  name: `key-${String(index).padStart(5, '0')}`,
}));
const pageRecords = 500;
/** Keys made, and budgets passed, one after the other, while usage is written. */
const changes = 20;
/** Dollars that each key spent. */
const spent = '0.25';
const goalMs = 5_000;

let folder: string;
let installation: Installation;
let operator: OperatorProcess;
let card: Scorecard;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'penstock-usage-'));
  await buildDist(fileURLToPath(new URL('../..', import.meta.url)), folder);
  installation = await startInstallation({
    ...{ operators: 0, gateways: 1, hasLedger: true, plane: { memoryGib: 6 } },
    // Fifty thousand other statuses at the usual rate are seventeen minutes.
    values: { operator: { kubeApi: { qps: 1_000, burst: 1_000 } } },
    build: {
      operator: join(folder, 'operator.js'),
      gateway: join(folder, 'gateway.js'),
      ledger: join(folder, 'ledger.js'),
    },
    operatorEnv: probedNode('--max-old-space-size=256', '--max-semi-space-size=8'),
  });
  await installation.apply(...['platform', ...teams].map((name) => namespaceOf(name)));
  await createAll(installation.plane, 'apikeys', keysToMake());
  await spendWithAll();
  card = openScorecard(`${keyCount} keys that are all in use (load of the machine ${load()})`);
}, 900_000);
afterAll(async () => {
  card?.print();
  await installation?.stop();
  await rm(folder, { recursive: true, force: true });
});

function* keysToMake() {
  for (const { namespace, name } of keys) yield importedApiKey(namespace, name);
}

async function spendWithAll(): Promise<void> {
  const store = await openSqliteStore(installation.ledger().file);
  const startedAt = new Date().toISOString();
  const entries = keys.map(({ namespace, name }, index) =>
    makeEntry({
      ...{ id: `many.${index}`, namespace, apiKey: `${namespace}/${name}`, startedAt },
      ...{ payer: 'tenant', costPicodollars: Number(spent) * 1e12 },
    }),
  );
  for (let at = 0; at < keyCount; at += pageRecords) {
    const page = { source: 'many', cursor: String(at), asides: [] };
    await store.take({ ...page, entries: entries.slice(at, at + pageRecords) }, Date.now());
  }
  await store.close();
}

const programmed = async (): Promise<number> =>
  (await readMetrics(operator.metricsUrl))(
    'penstock_operator_conditions',
    'condition="Programmed"',
    'status="True"',
  );

/** What was written into `status.usage` since then. */
async function usageWrites(
  fromMs: number,
): Promise<readonly { readonly atMs: number; readonly key: string }[]> {
  return (await installation.plane.audit())
    .filter(({ uri, receivedAtMs }) => uri.includes('fieldManager=penstock-usage') && receivedAtMs >= fromMs)
    .map(({ receivedAtMs, namespace, name }) => ({ atMs: receivedAtMs, key: `${namespace}/${name}` }));
}

async function addLagAndMemory(when: string): Promise<void> {
  const { lagP99Ms, turnMaxMs, gcMaxMs } = await readProbe(operator.process);
  const { nowMib, peakMib } = await readResident(operator.process);
  card.add({
    what: `${when}, the operator's longest turn is below 500 ms`,
    ...{ tried: 1, failed: turnMaxMs < 500 ? 0 : 1 },
    figures: `${turnMaxMs} ms; lag p99 ${lagP99Ms} ms, longest collection ${gcMaxMs} ms`,
  });
  card.add({
    what: `${when}, the operator takes less than 400 MiB`,
    ...{ tried: 1, failed: nowMib < 400 ? 0 : 1 },
    figures: `${nowMib} MiB, ${peakMib} at most`,
  });
}

/** Milliseconds from each change until it is seen. */
async function addWaits(
  what: string,
  change: (index: number) => Promise<() => Promise<boolean>>,
): Promise<void> {
  const tookMs: number[] = [];
  for (let index = 0; index < changes; index++) {
    const isSeen = await change(index);
    const sinceMs = performance.now();
    await until(isSeen, 100);
    tookMs.push(performance.now() - sinceMs);
  }
  card.add({
    what,
    ...{ tried: changes, failed: tookMs.filter((ms) => ms > goalMs).length },
    figures: `p50 ${Math.round(quantile(tookMs, 0.5))} ms, longest ${Math.round(quantile(tookMs, 1))} ms`,
  });
}

const conditionOf = async (namespace: string, name: string, type: string): Promise<string> =>
  await installation.plane.mustKubectl([
    ...['get', 'apikeys.penstock.dev', name, '-n', namespace],
    ...['-o', `jsonpath={.status.conditions[?(@.type=="${type}")].status}`],
  ]);

test('their spend is written twenty a second, and a used-up budget and a new key do not wait for it', async () => {
  operator = await installation.startOperator();
  await readProbe(operator.process);
  await until(async () => (await programmed()) >= keyCount, 2_000);
  await addLagAndMemory('while every key is programmed');

  const fromMs = Date.now();
  await addWaits('a budget that is used up is a condition within 5 s', async (index) => {
    const { namespace, name } = keys[keyCount - 1 - index] ?? { namespace: '', name: '' };
    const budgets = [{ period: 'Month', limit: '0.20' }];
    await mergePatch(installation.plane.client, apiKeyPath(namespace, name), { spec: { budgets } });
    return async () => (await conditionOf(namespace, name, 'BudgetExhausted')) === 'True';
  });
  await addWaits('a new key is programmed within 5 s', async (index) => {
    const path = '/apis/penstock.dev/v1alpha1/namespaces/team-0/apikeys';
    await createObject(installation.plane.client, path, importedApiKey('team-0', `new-${index}`));
    return async () => (await conditionOf('team-0', `new-${index}`, 'Programmed')) === 'True';
  });
  await until(async () => Date.now() - fromMs > watchedSeconds * 1_000, 1_000);
  const writes = await usageWrites(fromMs);
  const seconds = (Date.now() - fromMs) / 1_000;
  card.add({
    what: 'no more than twenty usages are written a second, beside those of budgets',
    ...{ tried: writes.length, failed: Math.max(0, writes.length - Math.ceil(20 * seconds) - 20 - changes) },
    figures: `${writes.length} in ${seconds.toFixed(0)} s`,
  });
  card.add({
    what: 'and no fewer than fifteen',
    ...{ tried: writes.length, failed: writes.length >= 15 * seconds ? 0 : 1 },
  });
  await addLagAndMemory('while usage is written');
  const table = await installation.plane.mustKubectl(['get', 'apikeys.penstock.dev', '-n', 'team-0']);
  const [head = '', ...rows] = table.trim().split('\n');
  const reported = rows.filter((row) => row.split(/\s+/).includes(spent)).length;
  card.add({
    what: 'kubectl get apikeys says who spent what',
    ...{ tried: rows.length, failed: /SPEND/.test(head) && reported > 0 ? 0 : 1 },
    figures: `${reported} of ${rows.length} keys of a namespace by then`,
  });

  await operator.process.stop(20_000);
  const restartedMs = Date.now();
  operator = await installation.startOperator();
  await until(async () => (await usageWrites(restartedMs)).length > 100, 2_000);
  const before = new Set(writes.map(({ key }) => key));
  const again = (await usageWrites(restartedMs)).filter(({ key }) => before.has(key));
  card.add({
    what: 'an operator that starts again goes on where the one before ended',
    ...{ tried: before.size, failed: again.length },
    figures: `first usage ${(((await usageWrites(restartedMs))[0]?.atMs ?? 0) - restartedMs) / 1_000} s after its start`,
  });
  expect(card.misses()).toEqual([]);
}, 900_000);
