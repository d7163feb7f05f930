// What if the operator dies in the middle of a publish, if two believe that they lead, if somebody deletes the lease or the
// pointer? Gateways serve one whole table or the other, never a piece of each, and what is lost comes back by itself.

import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Manifest } from '../../../core/contract/manifest.ts';
import { mergePatch } from '../../../core/kube/patch.ts';
import { type Simulator, startSimulator } from '../../../simulator/server.ts';
import { type ApiProxy, type Passing, startApiProxy } from '../../cluster/api-proxy.ts';
import { serviceAccountToken } from '../../cluster/identities.ts';
import { startProcess } from '../../support/process.ts';
import { runs } from '../../support/runs.ts';
import { askGateway, askUntil } from './ask.ts';
import {
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
  modelRoute,
  namespaceOf,
  provider,
} from './manifests.ts';
import { decodeManifest, readManifest } from './read-manifest.ts';
import { startTraffic } from './traffic.ts';

const installation = useInstallation({ operators: 0, gateways: runs(3, 2) });
const key = importedKey('platform', 'bot');
let east: Simulator;
let west: Simulator;

// Each accepts its own credential alone: a table with the address of one and the credential of the other gets a 401.
beforeAll(async () => {
  east = await startSimulator({ keys: { 'sk-east': { behaviour: 'accepted' } }, onlyKnownKeys: true });
  west = await startSimulator({ keys: { 'sk-west': { behaviour: 'accepted' } }, onlyKnownKeys: true });
});
afterAll(async () => {
  await east.close();
  await west.close();
});

/** `npm test` kills after each write alone: that is before the next one. */
const stride = 2 / runs(2);

/** How long each write of the table takes, with a slow etcd. */
const slowMs = 1_000;

let turns = 0;

/** One write of one object that makes two new shards: the Provider's address, and the credential beside it. */
async function turnTo(side: 'east' | 'west'): Promise<void> {
  const { plane } = installation();
  const { url } = side === 'east' ? east : west;
  const path = '/apis/penstock.dev/v1alpha1/namespaces/platform/providers/turning';
  const keys = [{ name: `turn-${++turns}`, secretRef: { name: side, key: 'main' } }];
  await mergePatch(plane.client, path, { spec: { baseURL: `${url}/v1`, auth: { keys } } });
}

async function isServedBy(simulator: Simulator): Promise<boolean> {
  for (const gateway of installation().gateways) {
    const before = simulator.counts().calls;
    await askGateway(gateway, key, 'm');
    if (simulator.counts().calls === before) return false;
  }
  return true;
}

const isTableWrite = ({ method, path }: Passing): boolean =>
  method !== 'GET' && path.startsWith(`/api/v1/namespaces/${tableNamespace}/secrets`);

test('killed at every step of a publish, before and after each write: no gateway ever serves a mixed table', async () => {
  const { apply, awaitCondition, gateways, gatewaysAreReady, plane, startOperator } = installation();
  let step = 0;
  let killAt: number | undefined;
  let operator: OperatorProcess | undefined;
  const steps: string[] = [];
  /** The step at which the process dies, in the order of the moments: before write 1, after it, before write 2, … */
  const moment = async (what: string, passing: Passing): Promise<void> => {
    if (!isTableWrite(passing)) return;
    if (++step !== killAt) return;
    steps.push(`${what} ${passing.method} ${passing.path.split('/').at(-1)}`);
    operator?.process.signal('SIGKILL');
    await operator?.process.exit;
  };
  const proxy: ApiProxy = await startApiProxy(plane, {
    before: (passing) => moment('before', passing),
    after: (passing) => moment('after', passing),
  });
  // The container of one and the same pod, started again each time: its identity, and so its lease, is the same.
  const token = await serviceAccountToken(plane, namespace, 'penstock-operator');
  const env = {
    PENSTOCK_POD_NAME: 'penstock-operator-phoenix',
    KUBECONFIG: await proxy.kubeconfig('phoenix', token),
  };
  try {
    operator = await startOperator(env);
    await gatewaysAreReady();
    await apply(
      namespaceOf('platform'),
      credentialSecret('platform', 'east', east.url, 'sk-east'),
      credentialSecret('platform', 'west', west.url, 'sk-west'),
      provider('platform', 'turning', east.url, 'east'),
      modelRoute('platform', 'm', ['turning']),
      importedApiKey('platform', 'bot'),
    );
    for (const ref of ['provider/turning', 'modelroute/m', 'apikey/bot']) {
      await awaitCondition(ref, 'Programmed', 'platform');
    }
    const traffic = startTraffic(gateways, key, 'm');
    let side: 'east' | 'west' = 'east';
    for (let at = stride; ; at += stride) {
      side = side === 'east' ? 'west' : 'east';
      step = 0;
      killAt = at;
      const dead = operator.process.exit;
      await turnTo(side);
      const done = awaitCondition('provider/turning', 'Programmed', 'platform', 30);
      const ending = await Promise.race([dead.then(() => 'killed'), done.then(() => 'published')]);
      // All steps of a publish are behind us.
      if (ending === 'published') break;
      done.catch(() => {});
      killAt = undefined;
      operator = await startOperator(env);
      await awaitCondition('provider/turning', 'Programmed', 'platform', 40);
      expect(await isServedBy(side === 'east' ? east : west)).toBe(true);
    }
    const { asked, bad } = await traffic.stop();
    console.log(
      `killed ${steps.length} times (${steps.join(', ')}): ${bad.length} of ${asked} requests failed`,
    );
    expect(bad).toEqual([]);
    // Two shards and the pointer, before and after each.
    expect(steps.length).toBeGreaterThanOrEqual(6 / stride);
  } finally {
    await operator?.process.stop();
    await proxy.close();
  }
}, 240_000);

test('two leaders of one lease: one pointer write wins, generations only rise, and one leader remains', async () => {
  const { awaitCondition, gateways, startOperator } = installation();
  const pointer = await watchPointer(installation());
  const one = await startOperator({ PENSTOCK_POD_NAME: 'penstock-operator-twin' });
  await one.process.line(/"leading"/);
  const other = await startOperator({ PENSTOCK_POD_NAME: 'penstock-operator-twin' });
  await other.process.line(/"leading"/);
  const traffic = startTraffic(gateways, key, 'm');
  await turnTo('west');
  await awaitCondition('provider/turning', 'Programmed', 'platform', 40);
  await Promise.any([one, other].map(({ process }) => process.line(/another leader writes the table/)));
  await turnTo('east');
  await awaitCondition('provider/turning', 'Programmed', 'platform', 40);
  expect(await isServedBy(east)).toBe(true);
  const { asked, bad } = await traffic.stop();
  const versions = await pointer.stop();
  console.log(
    `two leaders: ${bad.length} of ${asked} requests failed; ${versions.length} versions of the pointer seen`,
  );
  expect(bad).toEqual([]);
  expect(versions.length).toBeGreaterThan(2);
  for (const [index, version] of versions.entries()) {
    const before = versions[index - 1];
    if (before === undefined) continue;
    const isSame = version.epoch === before.epoch && version.generation === before.generation;
    const isNewer =
      version.epoch > before.epoch ||
      (version.epoch === before.epoch && version.generation > before.generation);
    expect(isSame || isNewer, `${JSON.stringify(before)} was followed by ${JSON.stringify(version)}`).toBe(
      true,
    );
    // No number represents two tables.
    if (isSame) expect(version.shards).toEqual(before.shards);
  }
  await one.process.stop();
  await other.process.stop();
}, 180_000);

// As with a slow etcd. What is written one after the other may not pile up: what changed at the same time goes out together.
test('with writes of a second one leader at a time moves the pointer, no request fails, and a revocation skips the queue', async () => {
  const { apply, awaitCondition, gateways, plane, startOperator } = installation();
  const isPointer = ({ method, path }: Passing) => method === 'PUT' && path.endsWith('/penstock-current');
  let inFlight = 0;
  let mostAtOnce = 0;
  let pointerWrites = 0;
  const proxy = await startApiProxy(plane, {
    async before(passing) {
      if (!isTableWrite(passing)) return;
      if (isPointer(passing)) {
        pointerWrites += 1;
        mostAtOnce = Math.max(mostAtOnce, ++inFlight);
      }
      // The slow write itself.
      await new Promise((resolve) => setTimeout(resolve, slowMs));
    },
    after(passing) {
      if (isPointer(passing)) inFlight -= 1;
    },
  });
  const token = await serviceAccountToken(plane, namespace, 'penstock-operator');
  const operator = await startOperator({ KUBECONFIG: await proxy.kubeconfig('slow', token) });
  try {
    await operator.process.line(/"leading"/);
    await apply(importedApiKey('platform', 'leaver'));
    await awaitCondition('apikey/leaver', 'Programmed', 'platform', 40);
    const traffic = startTraffic(gateways, key, 'm');
    const writesBefore = pointerWrites;
    const startedMs = performance.now();
    for (let turn = 0; turn < 10; turn++) await turnTo(turn % 2 === 0 ? 'east' : 'west');
    const leaver = '/apis/penstock.dev/v1alpha1/namespaces/platform/apikeys/leaver';
    await mergePatch(plane.client, leaver, { spec: { disabled: true } });
    const revokedMs = performance.now();
    for (const gateway of gateways) {
      await askUntil(gateway, importedKey('platform', 'leaver'), 'm', ({ status }) => status === 401);
    }
    const refusedMs = performance.now() - revokedMs;
    await awaitCondition('provider/turning', 'Programmed', 'platform', 40);
    const arrivedMs = performance.now() - startedMs;
    expect(await isServedBy(west)).toBe(true);
    const { asked, bad } = await traffic.stop();
    const writes = pointerWrites - writesBefore;
    console.log(
      `every write takes ${slowMs} ms: eleven changes were ${writes} writes of the pointer and everywhere after ` +
        `${Math.round(arrivedMs)} ms; a key was refused ${Math.round(refusedMs)} ms after it was switched off; ` +
        `${bad.length} of ${asked} requests failed`,
    );
    expect(bad).toEqual([]);
    expect(mostAtOnce).toBe(1);
    expect(writes).toBeLessThan(11);
    expect(refusedMs).toBeLessThan(20_000);
  } finally {
    await operator.process.stop(20_000);
    await proxy.close();
  }
}, 180_000);

test('a deleted lease, pointer and shard are restored automatically, and no gateway is locked out', async () => {
  const { awaitCondition, gateways, plane, startGateway, startOperator } = installation();
  const operator = await startOperator();
  await operator.process.line(/"leading"/);
  const traffic = startTraffic(gateways, key, 'm');

  await plane.mustKubectl(['delete', 'lease', 'penstock-operator', '-n', namespace]);
  await turnTo('west');
  await awaitCondition('provider/turning', 'Programmed', 'platform');
  await plane.mustKubectl([
    'wait',
    '--for=create',
    'lease/penstock-operator',
    '-n',
    namespace,
    '--timeout=20s',
  ]);

  await plane.mustKubectl(['delete', 'secret', 'penstock-current', '-n', tableNamespace]);
  await plane.mustKubectl([
    'wait',
    '--for=create',
    'secret/penstock-current',
    '-n',
    tableNamespace,
    '--timeout=20s',
  ]);
  await turnTo('east');
  await awaitCondition('provider/turning', 'Programmed', 'platform');
  expect(await isServedBy(east)).toBe(true);

  const { shards } = await readManifest(plane);
  await plane.mustKubectl([
    'delete',
    'secret',
    '-n',
    tableNamespace,
    '-l',
    'penstock.dev/shard',
    '--wait=false',
  ]);
  for (const { name } of shards) {
    await plane.mustKubectl([
      'wait',
      '--for=create',
      `secret/${name}`,
      '-n',
      tableNamespace,
      '--timeout=20s',
    ]);
  }
  // The proof that they are whole: one that has nothing yet reads them all.
  const late = await startGateway();
  await late.process.answering(`${late.metricsUrl}/readyz`);
  expect((await askGateway(late, key, 'm')).status).toBe(200);
  const { asked, bad } = await traffic.stop();
  console.log(
    `lease, pointer and ${shards.length} shards deleted: ${bad.length} of ${asked} requests failed`,
  );
  expect(bad).toEqual([]);
}, 180_000);

/** Everything that the pointer ever said, in the order of the API server. */
async function watchPointer({ plane }: Installation): Promise<{ stop(): Promise<Manifest[]> }> {
  const kubectl = await startProcess('get', {
    command: plane.programs.kubectl,
    args: [
      ...['secret', '-n', tableNamespace, '--field-selector=metadata.name=penstock-current', '--watch'],
      ...['-o', 'jsonpath=manifest {.data.manifest}{"\\n"}'],
    ],
    env: { KUBECONFIG: plane.adminKubeconfig },
  });
  await kubectl.line(/^manifest /);
  return {
    async stop() {
      await kubectl.stop();
      return kubectl
        .stdout()
        .split('\n')
        .filter((line) => line.startsWith('manifest '))
        .map((line) => decodeManifest(line.slice('manifest '.length)));
    },
  };
}
