// 500 ApiKeys and 100 routes, in `npm test` an eighth of them: how long until all are programmed, what does one change cost, who stalls, and is it quiet
// afterwards? The figures are printed; the bounds are against faults, not against slow machines.

import { expect, test } from 'vitest';
import { systemClock } from '../../../core/clock.ts';
import { mergePatch } from '../../../core/kube/patch.ts';
import { collectionPath, secrets } from '../../../core/kube/paths.ts';
import { startReflector } from '../../../core/kube/watch.ts';
import type { AuditEvent } from '../../cluster/audit.ts';
import { runs } from '../../support/runs.ts';
import { askGateway } from './ask.ts';
import { apiKeyPath, createAll, publishesOf } from './bulk.ts';
import { startCensus } from './census.ts';
import { describeMs, quantile } from './figures.ts';
import {
  type GatewayProcess,
  type Installation,
  namespace,
  type OperatorProcess,
  tableNamespace,
  useInstallation,
} from './installation.ts';
import {
  credentialSecret,
  importedApiKey,
  importedKey,
  issuedApiKey,
  modelRoute,
  namespaceOf,
  provider,
} from './manifests.ts';
import { readMetrics, untilDecided } from './readings.ts';
import { useSimulator } from './simulator.ts';

// The rate at which statuses are written is a setting; here it is what the machine gives.
const operatorEnv = { PENSTOCK_KUBE_QPS: '2000', PENSTOCK_KUBE_BURST: '2000' };
const installation = useInstallation({ operators: 0, gateways: 2, operatorEnv });
const simulator = useSimulator();

const teams = Array.from({ length: 10 }, (_, index) => `team-${index}`);
const providers = Array.from({ length: 20 }, (_, index) => `p-${index}`);
const routes = Array.from({ length: runs(100) }, (_, index) => `m-${index}`);
const imported = Array.from({ length: runs(440) }, (_, index) => `imported-${index}`);
const issued = Array.from({ length: runs(60) }, (_, index) => `issued-${index}`);
const objectCount = providers.length + routes.length + imported.length + issued.length;
const teamOf = (index: number) => teams[index % teams.length] ?? '';
const caller = importedKey('team-0', 'imported-0');
const model = 'penstock/m-0';

test('ApiKeys and routes that exist when an operator starts become one table, and all are programmed', async () => {
  const { apply, gateways, operators, plane, startOperator } = installation();
  const census = await startCensus(plane);
  await apply(
    ...['platform', ...teams].map((name) => namespaceOf(name)),
    credentialSecret('platform', 'shared', simulator().url, 'sk-one'),
    ...providers.map((name) => provider('platform', name, simulator().url, 'shared')),
  );
  const creatingMs = performance.now();
  await createAll(plane, 'modelroutes', [
    ...routes.map((name, index) =>
      modelRoute(
        'platform',
        name,
        [0, 1].map((step) => providers[(index + step) % providers.length] ?? ''),
        {
          model: `penstock/${name}`,
          allowedNamespaces: { from: 'All' },
        },
      ),
    ),
  ]);
  await createAll(plane, 'apikeys', [
    ...imported.map((name, index) => importedApiKey(teamOf(index), name)),
    ...issued.map((name, index) => issuedApiKey(teamOf(index), name)),
  ]);
  const createdMs = performance.now();
  const [first] = [await startOperator(), await startOperator()];
  await first.process.line(/table published/);
  const publishedMs = performance.now();
  await census.reaches(objectCount);
  const programmedMs = performance.now();
  await census.close();
  expect(await countProgrammed(installation())).toBe(objectCount);
  for (const gateway of gateways) expect((await askGateway(gateway, caller, model)).status).toBe(200);

  const publishes = publishesOf(first);
  const [largest] = publishes.toSorted((a, b) => b.shardsWritten - a.shardsWritten);
  const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;
  console.log(
    `${objectCount} objects created in ${seconds(createdMs - creatingMs)}; two operators started: table published after ` +
      `${seconds(publishedMs - createdMs)}, all programmed after ${seconds(programmedMs - createdMs)}\n` +
      `${publishes.length} publishes, the largest ${largest?.shardsWritten} shards and ${largest?.bytesWritten} bytes: ` +
      describeMs(publishes.map(({ durationMs }) => durationMs)),
  );
  for (const operator of operators) console.log(await describeMemory(operator));
  expect(programmedMs - createdMs).toBeLessThan(150_000);
  expect(
    quantile(
      publishes.map(({ durationMs }) => durationMs),
      1,
    ),
  ).toBeLessThan(15_000);
}, 240_000);

test('one changed key writes one shard and the pointer, and no caller waits for the swap', async () => {
  const { gateways, operators, plane } = installation();
  const leader = await leaderOf(operators);
  const before = publishesOf(leader).length;
  const changes = runs(20, 4);

  const quietMs = await Promise.all(gateways.map((gateway) => askOften(gateway, runs(200))));
  const swapMs: number[] = [];
  const longestMs: number[] = [];
  const honouredMs: number[] = [];
  for (let count = 0; count < changes; count++) {
    const answers = await Promise.all(gateways.map((gateway) => askGateway(gateway, caller, model)));
    const generation = Math.max(...answers.map((answer) => answer.generation ?? 0));
    const startedMs = performance.now();
    const tookMs: number[] = [];
    const swapped = gateways.map((gateway) => askUntil(gateway, generation + 1, tookMs));
    await mergePatch(plane.client, apiKeyPath('team-1', 'imported-1'), {
      spec: { models: { allow: [`penstock/m-${count}`] } },
    });
    await Promise.all(swapped);
    const swappedMs = performance.now();
    await leader.process.line(new RegExp(`table published.*"generation":${generation + 1},`));
    honouredMs.push(swappedMs - startedMs);
    swapMs.push(...tookMs);
    longestMs.push(quantile(tookMs, 1));
  }
  const publishes = publishesOf(leader).slice(before);
  console.log(
    `one changed key, ${changes} times: served everywhere after ${describeMs(honouredMs)}\n` +
      `publish: ${describeMs(publishes.map(({ durationMs }) => durationMs))}; shards ${said(publishes.map(({ shardsWritten }) => shardsWritten))}, ` +
      `bytes with the manifest ${said(publishes.map(({ bytesWritten }) => bytesWritten))}\n` +
      `a steady caller during the swaps: ${describeMs(swapMs)}; the longest answer around each swap: ` +
      `${describeMs(longestMs)}; without any swap: ${describeMs(quietMs.flat())}`,
  );
  expect(publishes.map(({ shardsWritten }) => shardsWritten)).toEqual(Array(changes).fill(1));
  expect(quantile(swapMs, 1)).toBeLessThan(3_000);
  expect(quantile(honouredMs, 1)).toBeLessThan(10_000);
}, 120_000);

test('another compile of everything, also by a new leader, writes nothing but leases and heartbeats', async () => {
  const { operators, plane } = installation();
  const leader = await leaderOf(operators);
  const next = operators.find((operator) => operator !== leader);
  if (next === undefined) throw new Error('there is only one operator');
  // The first checks of upstreams are news, and late where the machine is busy.
  const settled = [
    'wait',
    'providers',
    '--all',
    '-n',
    'platform',
    '--for=condition=Healthy',
    '--timeout=60s',
  ];
  await plane.mustKubectl(settled);
  const heartbeats = await watchHeartbeats(installation());
  // Statuses and events of the changes before are written by the time of the next.
  await heartbeats.more(1);
  const fromMs = Date.now();
  await heartbeats.more(1);
  const ofTheNext = heartbeats.more(2);
  leader.process.signal('SIGTERM');
  await leader.process.exit;
  await next.process.line(/"leading"/);
  await untilDecided(next, objectCount);
  await ofTheNext;
  const untilMs = Date.now();
  await heartbeats.close();

  const user = `system:serviceaccount:${namespace}:penstock-operator`;
  const writes = (await plane.audit()).filter((event) => event.user === user && !isRead(event));
  const written = writes.filter(
    (event) => event.receivedAtMs >= fromMs && event.receivedAtMs <= untilMs && !isOfTheMinute(event, writes),
  );
  const counts = Map.groupBy(written, nameOf);
  const lines = [...counts].map(([name, events]) => `${events.length} × ${name}`);
  console.log(
    `written in ${Math.round((untilMs - fromMs) / 1000)} s, over a change of leader: ${lines.join(', ')}`,
  );
  console.log(await describeMemory(next));
  expect([...counts.keys()].sort()).toEqual([
    `update leases ${namespace}/penstock-operator`,
    `update secrets ${tableNamespace}/penstock-current`,
  ]);
  expect(counts.get(`update secrets ${tableNamespace}/penstock-current`)?.length).toBeLessThanOrEqual(
    Math.ceil((untilMs - fromMs) / 10_000) + 3,
  );
}, 120_000);

/** What gateways say of their calls is written once a minute: on a slow machine the minute of the calls before ends in the second look. */
function isOfTheMinute(event: AuditEvent, writes: readonly AuditEvent[]): boolean {
  if (nameOf(event) !== 'patch providers/status platform/p-0') return false;
  const before = writes.filter(
    (other) => nameOf(other) === nameOf(event) && other.receivedAtMs < event.receivedAtMs,
  );
  return before.length > 0 && before.every(({ receivedAtMs }) => event.receivedAtMs - receivedAtMs >= 59_000);
}

async function countProgrammed({ plane }: Installation): Promise<number> {
  const condition = '{.status.conditions[?(@.type=="Programmed")].status}';
  const reported = await plane.mustKubectl([
    ...['get', 'providers,modelroutes,apikeys', '--all-namespaces'],
    ...['-o', `jsonpath={range .items[*]}${condition}{"\\n"}{end}`],
  ]);
  return reported.split('\n').filter((status) => status === 'True').length;
}

async function leaderOf(operators: readonly OperatorProcess[]): Promise<OperatorProcess> {
  for (const operator of operators) {
    if ((await readMetrics(operator.metricsUrl))('leader_election_master_status') === 1) return operator;
  }
  throw new Error('no operator leads');
}

async function describeMemory({ name, metricsUrl }: OperatorProcess): Promise<string> {
  const metrics = await readMetrics(metricsUrl);
  const [resident, heap] = ['process_resident_memory_bytes', 'nodejs_heap_size_used_bytes'].map((metric) =>
    Math.round(metrics(metric) / 2 ** 20),
  );
  return `${name}: ${resident} MiB resident, ${heap} MiB of heap in use`;
}

async function askOften(gateway: GatewayProcess, times: number): Promise<number[]> {
  const tookMs: number[] = [];
  for (let count = 0; count < times; count++) await askUntil(gateway, 0, tookMs);
  return tookMs;
}

/** Between two requests of one caller: a longer wait of a caller includes one. */
const pauseMs = 5;

/** One request after the other until one is served by this generation, or a later one. */
async function askUntil(gateway: GatewayProcess, generation: number, tookMs: number[]): Promise<void> {
  for (;;) {
    const startedMs = performance.now();
    const answer = await askGateway(gateway, caller, model);
    tookMs.push(performance.now() - startedMs);
    if (answer.status !== 200) throw new Error(`${gateway.name}: ${answer.status} ${answer.text}`);
    if ((answer.generation ?? 0) >= generation) return;
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}

function said(numbers: readonly number[]): string {
  return `${Math.min(...numbers)} to ${Math.max(...numbers)}`;
}

interface Heartbeats {
  /** Settled after so many more of them. */
  more(count: number): Promise<void>;
  close(): Promise<void>;
}

async function watchHeartbeats({ plane }: Installation): Promise<Heartbeats> {
  let seen = 0;
  let tell: () => void = () => {};
  const reflector = startReflector({
    client: plane.client,
    clock: systemClock,
    random: Math.random,
    path: collectionPath(secrets, tableNamespace),
    query: { fieldSelector: 'metadata.name=penstock-current' },
    convert: () => true,
    onEvent(event) {
      if (event.type !== 'upserted') return;
      seen++;
      tell();
    },
  });
  await reflector.synced;
  return {
    async more(count) {
      const wanted = seen + count;
      while (seen < wanted) {
        await new Promise<void>((resolve) => {
          tell = resolve;
        });
      }
    },
    close: () => reflector.close(),
  };
}

function isRead({ verb }: AuditEvent): boolean {
  return ['get', 'list', 'watch'].includes(verb);
}

function nameOf({ verb, resource, subresource, namespace: inNamespace, name }: AuditEvent): string {
  const what = subresource === '' ? resource : `${resource}/${subresource}`;
  return `${verb} ${what} ${inNamespace}/${name}`;
}
