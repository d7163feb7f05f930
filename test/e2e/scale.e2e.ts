// 50,000 ApiKeys, 2,000 routes and 12 gateways: what does the operator need, how fast is a change, and how many writes is it?
// Every figure is printed with its goal and the load of the machine, and written to tools/bench/results/scale.json. A missed goal is
// reported as missed; what is asserted are bounds against faults, and the numbers of writes, which no slow machine changes.

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createObject, mergePatch } from '../../core/kube/patch.ts';
import { type Simulator, startSimulator } from '../../simulator/server.ts';
import { readMachine } from '../../tools/bench/machine.ts';
import { buildDist } from '../../tools/pack/bundles.ts';
import { askGateway } from '../flow/cluster/ask.ts';
import { apiKeyPath, createAll, inLanes, publishesOf } from '../flow/cluster/bulk.ts';
import { quantile } from '../flow/cluster/figures.ts';
import {
  type GatewayProcess,
  type Installation,
  namespace,
  type OperatorProcess,
  startInstallation,
  tableNamespace,
} from '../flow/cluster/installation.ts';
import {
  credentialSecret,
  importedApiKey,
  importedKey,
  modelRoute,
  namespaceOf,
  provider,
} from '../flow/cluster/manifests.ts';
import { readMetrics, untilDecided } from '../flow/cluster/readings.ts';
import { until } from '../support/until.ts';
import { load, probedNode, readProbe, readResident } from './scale/readings.ts';

const keyCount = 50_000;
const routeCount = 2_000;
const gatewayCount = 12;
/** Of each sort: keys changed, created, revoked, one after the other. */
const changes = 50;
const changedAtOnce = keyCount / 5;

const teams = Array.from({ length: 50 }, (_, index) => `team-${index}`);
const providers = Array.from({ length: 50 }, (_, index) => `p-${index}`);
const keys = Array.from({ length: keyCount }, (_, index) => ({
  namespace: teams[index % teams.length] ?? '',
  name: `key-${index}`,
}));
const caller = importedKey('team-0', 'key-0');
const model = 'penstock/m-0';
const resultsFile = fileURLToPath(new URL('../../tools/bench/results/scale.json', import.meta.url));

interface Figure {
  readonly what: string;
  readonly value: number;
  readonly unit: string;
  /** Of how many the value is made, where it is of many. */
  readonly of?: number;
  /** The value shall be below. */
  readonly goal?: number;
  readonly load: number;
}

const figures: Figure[] = [];
let folder: string;
let simulator: Simulator;
let installation: Installation;
let operator: OperatorProcess;

beforeAll(async () => {
  simulator = await startSimulator();
  folder = await mkdtemp(join(tmpdir(), 'penstock-scale-'));
  await buildDist(fileURLToPath(new URL('../..', import.meta.url)), folder);
  installation = await startInstallation({
    operators: 0,
    gateways: gatewayCount,
    plane: { memoryGib: 6 },
    // Fifty thousand statuses at the usual rate are seventeen minutes.
    values: { operator: { kubeApi: { qps: 1_000, burst: 1_000 } } },
    // What is shipped: to run the sources takes memory that no pod of ours takes.
    build: { operator: join(folder, 'operator.js'), gateway: join(folder, 'gateway.js') },
    operatorEnv: probedNode('--max-old-space-size=256', '--max-semi-space-size=8'),
    gatewayEnv: probedNode('--max-old-space-size=576'),
  });
});
afterAll(async () => {
  // At once: each of them drains.
  await Promise.all(installation?.gateways.map((gateway) => gateway.process.stop()) ?? []);
  await installation?.stop();
  await simulator?.close();
  await rm(folder, { recursive: true, force: true });
  console.log(figures.map(describe).join('\n'));
  await writeFile(resultsFile, `${JSON.stringify({ machine: await readMachine(), figures }, null, 1)}\n`);
});

test('an operator that starts with all of them publishes a table soon, and all are programmed', async () => {
  const { apply, gateways, plane, startOperator } = installation;
  await apply(
    ...['platform', ...teams].map((name) => namespaceOf(name)),
    credentialSecret('platform', 'shared', simulator.url, 'sk-one'),
    ...providers.map((name) => provider('platform', name, simulator.url, 'shared')),
  );
  const creatingMs = performance.now();
  await createAll(plane, 'modelroutes', routesToMake());
  await createAll(plane, 'apikeys', keysToMake());
  note('objects created', secondsSince(creatingMs), 's', { of: keyCount + routeCount });

  const startedMs = performance.now();
  operator = await startOperator();
  // What it took to load the program is no lag.
  await readProbe(operator.process);
  await operator.process.line(/all objects were read once/);
  note('operator start to everything read', secondsSince(startedMs), 's');
  await operator.process.line(/table published/);
  note('operator start to first table', secondsSince(startedMs), 's', { goal: 30 });
  await Promise.all(gateways.map((gateway) => untilStatus(gateway, caller, 200)));
  note('operator start to served by all gateways', secondsSince(startedMs), 's');
  await noteLag('while reading everything');
  await allProgrammed();
  note('operator start to all programmed', secondsSince(startedMs), 's', { of: keyCount + routeCount });
  await noteLag('while writing all statuses');
  await noteMemory('after all statuses were written');
  for (const gateway of gateways.slice(0, 1)) {
    note('memory of a gateway, resident', (await readResident(gateway.process)).nowMib, 'MiB');
  }
}, 900_000);

test('one changed key writes one shard and the pointer, and every gateway uses it within a second', async () => {
  const { gateways, plane } = installation;
  const [first] = gateways;
  if (first === undefined) throw new Error('there is no gateway');
  const settled = publishesOf(operator).length;
  const fromMs = Date.now();
  const quiet = await steadyWhile(first, () => {
    // The same questions to all gateways as during a change.
    const untilMs = performance.now() + 10_000;
    return Promise.all(
      gateways.map((gateway) => untilStatus(gateway, 'psk_nobody', 200, () => performance.now() > untilMs)),
    );
  });
  await noteLag('at rest', false);
  // Each change is one table more. What a gateway says is no measure: it refuses a revoked key before it runs the table without it.
  let generation = (await askGateway(first, caller, model)).generation ?? 0;
  const createdMs: number[] = [];
  const revokedMs: number[] = [];
  const changedMs: number[] = [];
  const during = await steadyWhile(first, async () => {
    for (let index = 0; index < changes; index++) {
      const inNamespace = teams[index % teams.length] ?? '';
      const name = `new-${index}`;
      const key = importedKey(inNamespace, name);
      const path = `/apis/penstock.dev/v1alpha1/namespaces/${inNamespace}/apikeys`;
      await createObject(plane.client, path, importedApiKey(inNamespace, name));
      createdMs.push(await honouredByAll(gateways, key, 200));
    }
    for (let index = 0; index < changes; index++) {
      const inNamespace = teams[index % teams.length] ?? '';
      const name = `new-${index}`;
      // No more than two tables a second are published because of what is taken away; that wait is not what is measured.
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      await mergePatch(plane.client, apiKeyPath(inNamespace, name), { spec: { disabled: true } });
      revokedMs.push(await honouredByAll(gateways, importedKey(inNamespace, name), 401));
    }
    generation += 2 * changes;
    for (let index = 0; index < changes; index++) {
      const shared = { owner: { name: `owner-${index}` } };
      await mergePatch(plane.client, apiKeyPath('team-1', 'key-1'), { spec: shared });
      changedMs.push(await servedByAll(gateways, generation + index + 1));
    }
  });
  await noteLag('during single changes');
  const publishes = await publishesSince(settled, 3 * changes);
  noteMany('a created key: acknowledged to honoured by all gateways', createdMs, 1_000);
  noteMany('a revoked key: acknowledged to refused by all gateways', revokedMs, 1_000);
  noteMany('a changed key: acknowledged to served by all gateways', changedMs, 1_000);
  const durations = publishes.map(({ durationMs }) => durationMs);
  noteMany('publish of one change', durations, 500);
  const revocations = publishes.flatMap(({ revocationMs }) => revocationMs ?? []);
  noteMany('a revoked key: seen by the operator to written into the pointer', revocations, 100);
  noteMany('a request at one gateway, no change', quiet, undefined);
  noteMany('a request at one gateway, during the changes', during, undefined);
  note(
    'requests during changes over requests at rest, p99',
    round(quantile(during, 0.99) / quantile(quiet, 0.99)),
    '',
  );

  const writes = await tableWrites(fromMs);
  note('shards written for one changed key', writes.shards / (3 * changes), '', {
    of: 3 * changes,
    goal: 1.001,
  });
  note('writes of the pointer for one changed key', writes.pointer / (3 * changes), '', { of: 3 * changes });
  // A revoked key gives its shard the content it had before the key was made, and that one is still there.
  expect(Math.max(...publishes.map(({ shardsWritten }) => shardsWritten))).toBe(1);
  expect(publishes.length).toBe(3 * changes);
  expect(quantile([...createdMs, ...revokedMs, ...changedMs], 1)).toBeLessThan(30_000);
}, 900_000);

test('a change of a fifth of all keys takes few writes, and every gateway has it soon', async () => {
  const { gateways, plane } = installation;
  const [first] = gateways;
  if (first === undefined) throw new Error('there is no gateway');
  await Promise.all(gateways.map((gateway) => readProbe(gateway.process)));
  const settled = publishesOf(operator).length;
  const last = keys[changedAtOnce - 1];
  if (last === undefined) throw new Error('there are no keys');
  const during = await steadyWhile(first, async () => {
    const startedMs = performance.now();
    await inLanes(keys.slice(1, changedAtOnce), ({ namespace: inNamespace, name }) =>
      mergePatch(plane.client, apiKeyPath(inNamespace, name), { spec: { disabled: true } }),
    );
    note('keys changed at once: until acknowledged', secondsSince(startedMs), 's', { of: changedAtOnce });
    const acknowledgedMs = performance.now();
    await Promise.all(
      [...gateways].flatMap((gateway) =>
        keys
          .slice(1, changedAtOnce)
          .filter((_, index) => index % 1_000 === 0)
          .concat(last)
          .map(({ namespace: inNamespace, name }) =>
            untilStatus(gateway, importedKey(inNamespace, name), 401),
          ),
      ),
    );
    note(
      'keys changed at once: last acknowledged to honoured by all gateways',
      secondsSince(acknowledgedMs),
      's',
      {
        goal: 10,
      },
    );
  });
  const publishes = publishesOf(operator).slice(settled);
  note('keys changed at once: publishes', publishes.length, '');
  note(
    'keys changed at once: shards written',
    publishes.reduce((sum, { shardsWritten }) => sum + shardsWritten, 0),
    '',
    { goal: 65 },
  );
  noteMany(
    'keys changed at once: a publish',
    publishes.map(({ durationMs }) => durationMs),
    undefined,
  );
  noteMany('keys changed at once: a request at one gateway', during, undefined);
  await noteLag('while many keys change');
  const probes = await Promise.all(gateways.map((gateway) => readProbe(gateway.process)));
  note(
    'keys changed at once: longest collection of garbage in a gateway',
    Math.max(...probes.map(({ gcMaxMs }) => gcMaxMs)),
    'ms',
    { goal: 50 },
  );
  await allProgrammed();
  await noteMemory('after many keys had changed');
}, 900_000);

test('an operator that restarts leads soon and writes no status', async () => {
  await operator.process.stop(20_000);
  const fromMs = Date.now();
  const startedMs = performance.now();
  operator = await installation.startOperator();
  await readProbe(operator.process);
  await operator.process.line(/all objects were read once/);
  note('operator restart to everything read', secondsSince(startedMs), 's');
  await operator.process.line(/"leading"/);
  note('operator restart to leading', secondsSince(startedMs), 's', { goal: 30 });
  await untilDecided(operator, keyCount + routeCount, 1_000);
  note('operator restart to every status compared', secondsSince(startedMs), 's');
  await noteLag('at a restart');
  await noteMemory('after a restart');
  const written = (await installation.plane.audit()).filter(
    ({ receivedAtMs, subresource, verb }) =>
      receivedAtMs >= fromMs && subresource === 'status' && verb === 'patch',
  );
  // Those of the Pods are the tests' own.
  expect(written.filter(({ resource }) => resource === 'apikeys').length).toBe(0);
}, 900_000);

function* routesToMake() {
  for (let index = 0; index < routeCount; index++) {
    const targets = [0, 1].map((step) => providers[(index + step) % providers.length] ?? '');
    yield modelRoute('platform', `m-${index}`, targets, {
      model: `penstock/m-${index}`,
      allowedNamespaces: { from: 'All' },
    });
  }
}

function* keysToMake() {
  for (const { namespace: inNamespace, name } of keys) yield importedApiKey(inNamespace, name);
}

/** Milliseconds until all gateways answer so. */
async function honouredByAll(
  gateways: readonly GatewayProcess[],
  key: string,
  status: number,
): Promise<number> {
  const startedMs = performance.now();
  await Promise.all(gateways.map((gateway) => untilStatus(gateway, key, status)));
  return performance.now() - startedMs;
}

/** Milliseconds until all gateways serve this table generation, or a later one. */
async function servedByAll(gateways: readonly GatewayProcess[], generation: number): Promise<number> {
  const startedMs = performance.now();
  await Promise.all(
    gateways.map((gateway) =>
      untilModels(
        gateway,
        caller,
        ({ headers }) => Number(headers.get('x-penstock-generation')) >= generation,
      ),
    ),
  );
  return performance.now() - startedMs;
}

function untilStatus(
  gateway: GatewayProcess,
  key: string,
  status: number,
  isOver = () => false,
): Promise<void> {
  return untilModels(gateway, key, (answer) => answer.status === status || isOver());
}

/** Between two questions to one gateway; twelve of them leave the cores to what is measured. */
const pauseMs = 20;

/** Asks for the list of models, which needs no upstream. */
async function untilModels(
  { url }: GatewayProcess,
  key: string,
  isWanted: (answer: Response) => boolean,
): Promise<void> {
  await until(async () => {
    const answer = await fetch(`${url}/v1/models/${encodeURIComponent(model)}`, {
      headers: { authorization: `Bearer ${key}` },
    }).catch(() => undefined);
    await answer?.arrayBuffer();
    return answer !== undefined && isWanted(answer);
  }, pauseMs);
}

/** Milliseconds of each request that a steady caller of one gateway made at the same time; every one must succeed. */
async function steadyWhile(gateway: GatewayProcess, run: () => Promise<unknown>): Promise<number[]> {
  const tookMs: number[] = [];
  let isOver = false;
  const calling = (async () => {
    while (!isOver) {
      const startedMs = performance.now();
      const { status, text } = await askGateway(gateway, caller, model);
      tookMs.push(performance.now() - startedMs);
      if (status !== 200) throw new Error(`${gateway.name}: ${status} ${text}`);
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  })();
  try {
    await run();
  } finally {
    isOver = true;
    await calling;
  }
  return tookMs;
}

/** Gateways may be quicker to serve a table than the operator to say that it was published. */
function publishesSince(settled: number, least: number): Promise<ReturnType<typeof publishesOf>> {
  return until(async () => {
    const publishes = publishesOf(operator).slice(settled);
    return publishes.length >= least && publishes;
  }, 50);
}

/** As the operator counts it; a census of our own would be one more reader of everything. */
async function allProgrammed(): Promise<void> {
  await until(async () => {
    const metrics = await readMetrics(operator.metricsUrl);
    const idle = metrics('workqueue_depth', 'name="status"') === 0;
    const programmed = metrics('penstock_operator_conditions', 'condition="Programmed"', 'status="True"');
    return idle && programmed >= keyCount + routeCount + providers.length;
  }, 2_000);
}

/** What the operator has written into the namespace of the table since then, as the API server tells it. */
async function tableWrites(fromMs: number): Promise<{ readonly shards: number; readonly pointer: number }> {
  const user = `system:serviceaccount:${namespace}:penstock-operator`;
  const written = (await installation.plane.audit()).filter(
    (event) =>
      event.user === user &&
      event.receivedAtMs >= fromMs &&
      event.resource === 'secrets' &&
      event.namespace === tableNamespace,
  );
  return {
    shards: written.filter(({ verb }) => verb === 'create').length,
    pointer: written.filter(({ verb, name }) => verb === 'update' && name === 'penstock-current').length,
  };
}

async function noteLag(when: string, hasGoal = true): Promise<void> {
  const { lagP99Ms, lagMaxMs, turnMaxMs, gcMaxMs } = await readProbe(operator.process);
  const [p99, max] = hasGoal ? [{ goal: 100 }, { goal: 500 }] : [{}, {}];
  note(`operator's event loop ${when}: lag, p99`, lagP99Ms, 'ms', p99);
  note(`operator's event loop ${when}: lag, max`, lagMaxMs, 'ms', max);
  note(`operator's event loop ${when}: longest turn, of its own work`, turnMaxMs, 'ms', max);
  note(`operator's longest collection of garbage ${when}`, gcMaxMs, 'ms');
}

async function noteMemory(when: string): Promise<void> {
  const { nowMib, peakMib } = await readResident(operator.process);
  const { heapMib, externalMib } = await readProbe(operator.process);
  note(`memory of the operator ${when}, resident`, nowMib, 'MiB', { goal: 400 });
  note(`memory of the operator ${when}, resident at most so far`, peakMib, 'MiB');
  note(`memory of the operator ${when}, heap`, heapMib, 'MiB');
  note(`memory of the operator ${when}, buffers`, externalMib, 'MiB');
}

function note(what: string, value: number, unit: string, more: { of?: number; goal?: number } = {}): void {
  const figure = { what, value: round(value), unit, ...more, load: load() };
  figures.push(figure);
  console.log(describe(figure));
}

function noteMany(what: string, values: readonly number[], goal: number | undefined): void {
  const of = values.length;
  note(`${what}, p50`, Math.round(quantile(values, 0.5)), 'ms', { of });
  note(`${what}, p99`, Math.round(quantile(values, 0.99)), 'ms', {
    of,
    ...(goal === undefined ? {} : { goal }),
  });
  note(`${what}, max`, Math.round(quantile(values, 1)), 'ms', { of });
}

function describe({ what, value, unit, of, goal, load: busy }: Figure): string {
  const number = of === undefined ? '' : `, N = ${of}`;
  const judged = goal === undefined ? '' : ` (goal < ${goal}: ${value < goal ? 'met' : 'MISSED'})`;
  return `${what}: ${value} ${unit}${number}${judged} [load ${busy}]`;
}

function secondsSince(startedMs: number): number {
  return (performance.now() - startedMs) / 1000;
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
