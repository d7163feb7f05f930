// Do operator and gateways of two versions get along, in every order in which an upgrade or its way back brings them together?
// Under steady traffic, with changes in each state: an installation that lags behind is no installation that fails.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { mergePatch } from '../../core/kube/patch.ts';
import { type Simulator, startSimulator } from '../../simulator/server.ts';
import { clusterWaitMs } from '../cluster/shared.ts';
import { askGateway } from '../flow/cluster/ask.ts';
import { startPoliciesJob } from '../flow/cluster/errands.ts';
import {
  type Build,
  type GatewayProcess,
  type Installation,
  type OperatorProcess,
  startInstallation,
} from '../flow/cluster/installation.ts';
import {
  credentialSecret,
  importedApiKey,
  importedKey,
  issuedApiKey,
  modelRoute,
  namespaceOf,
  provider,
  tenantPolicy,
} from '../flow/cluster/manifests.ts';
import { startTraffic, type Traffic } from '../flow/cluster/traffic.ts';
import { buildPresent, buildPrevious, commitOfValues } from './previous-build.ts';

const key = importedKey('team-a', 'bot');
let folder: string;
let previous: Build;
let present: Build;
let simulator: Simulator;
let installation: Installation;

let running: OperatorProcess[] = [];
/** Where requests go: ready, and not terminating. A Service would have it so too. */
const inService = new Map<GatewayProcess, Traffic>();
const total = { asked: 0, bad: [] as string[] };

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'penstock-upgrade-'));
  previous = await buildPrevious(join(folder, 'previous'));
  present = await buildPresent(join(folder, 'present'));
  simulator = await startSimulator();
  installation = await startInstallation({
    build: previous,
    operators: 2,
    gateways: 3,
    namespaces: ['team-a'],
    plane: { hasControllers: true },
  });
  await installation.apply(
    credentialSecret('team-a', 'sim', simulator.url, 'sk-one'),
    provider('team-a', 'sim', simulator.url, 'sim'),
    modelRoute('team-a', 'small', ['sim']),
    importedApiKey('team-a', 'bot'),
    issuedApiKey('team-a', 'issued'),
  );
  for (const ref of ['provider/sim', 'modelroute/small', 'apikey/bot', 'apikey/issued'])
    await installation.awaitCondition(ref, 'Ready', 'team-a');
  for (const gateway of installation.gateways) enter(gateway);
  running = [...installation.operators];
}, clusterWaitMs + 300_000);

afterAll(async () => {
  for (const traffic of inService.values()) await traffic.stop();
  await installation?.stop();
  await simulator?.close();
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
}, 60_000);

test('operators first and gateways one by one, then back in that order: every state serves all requests, and takes changes', async () => {
  const states: string[] = [];
  const note = async (state: string) => states.push(`${state}: ${await changeArrives(state)}`);

  await note('all of N-1');
  await installation.changeTo(present);
  await note('all of N-1, kinds and rights of N');
  await replaceOperators();
  await note('operators N, gateways N-1');
  await replaceOneGateway();
  await note('operators N, one gateway of N');
  await replaceOneGateway();
  await replaceOneGateway();
  await note('all of N');
  await applyPolicies();
  await note('all of N, with TenantPolicies of each part');
  // What N-1 cannot do: it is in Secrets and tables when the way back begins.
  await rotateIssued();
  await note('all of N, after a rotation');

  await installation.changeTo(previous);
  await note('all of N, kinds and rights of N-1');
  await replaceOperators();
  await note('operators N-1, gateways N');
  await replaceOneGateway();
  await note('operators N-1, one gateway of N-1');
  await replaceOneGateway();
  await replaceOneGateway();
  await note('all of N-1 again');

  for (const gateway of [...inService.keys()]) await leave(gateway);
  console.log(
    [
      `upgrade and downgrade: ${total.bad.length} of ${total.asked} requests failed; changes:`,
      ...states,
    ].join('\n  '),
  );
  expect(total.bad).toEqual([]);
  expect(total.asked).toBeGreaterThan(300);
}, 600_000);

test('a limit in the values holds in every state of an upgrade to TenantPolicies, and of its rollback', async () => {
  const build = await buildPrevious(join(folder, 'of-values'), commitOfValues);
  const bound = [{ period: 'Total', limit: '0' }];
  await using parts = new AsyncDisposableStack();
  const it = await startInstallation({
    build,
    operators: 1,
    gateways: 2,
    namespaces: ['team-a', 'team-b'],
    values: { tenants: [{ namespace: 'team-b', budgets: bound }] },
    losesRights: true,
  });
  parts.defer(() => it.stop());
  const pricing = { inputPerMillion: '1', outputPerMillion: '2' };
  await it.apply(
    namespaceOf('platform'),
    credentialSecret('platform', 'sim', simulator.url, 'sk-one'),
    provider('platform', 'sim', simulator.url, 'sim'),
    modelRoute('platform', 'shared', ['sim'], { pricing, allowedNamespaces: { from: 'All' } }),
    importedApiKey('team-a', 'free'),
    importedApiKey('team-b', 'bound'),
  );
  await it.awaitCondition('modelroute/shared', 'Ready', 'platform');
  await it.awaitCondition('apikey/free', 'Ready', 'team-a');
  await it.awaitCondition('apikey/bound', 'Ready', 'team-b');
  let gateways = [...it.gateways];
  let operators = [...it.operators];
  const holds = async (state: string) => {
    for (const gateway of gateways) {
      const [free, held] = await Promise.all([
        askGateway(gateway, importedKey('team-a', 'free'), 'shared'),
        askGateway(gateway, importedKey('team-b', 'bound'), 'shared'),
      ]);
      expect([state, free.status, held.status]).toEqual([state, 200, 429]);
      expect(held.text).toContain('insufficient_quota');
    }
  };
  const nextOperator = async () => {
    const started = await it.startOperator();
    for (const { process } of operators) expect((await process.stop(20_000)).code).toBe(0);
    operators = [started];
  };
  const nextGateways = async () => {
    const old = gateways;
    gateways = [await it.startGateway(), await it.startGateway()];
    for (const gateway of gateways) await gateway.process.answering(`${gateway.metricsUrl}/readyz`);
    await holds('gateways of two versions');
    for (const { pod, process } of old) {
      await pod.startDeletion();
      expect((await process.stop(20_000)).code).toBe(0);
      await pod.remove();
    }
  };
  await holds('all of N-1');
  await it.changeTo(present);
  await holds('kinds and rights of N');
  await nextOperator();
  await holds('operator N, before the Job');
  const job = await startPoliciesJob(it);
  expect((await job.exit).code).toBe(0);
  await it.awaitCondition('tenantpolicy/penstock-tenant-team-b', 'Ready', 'default');
  await holds('operator N, after the Job');
  await nextGateways();
  await holds('all of N');
  await it.changeTo(build);
  await nextOperator();
  await holds('operator N-1');
  await nextGateways();
  await holds('all of N-1 again');
}, 600_000);

test('a clone without the history names the commits to fetch', async () => {
  await expect(buildPrevious(join(folder, 'nothing'), '0'.repeat(40))).rejects.toThrow(
    /^commit 0{40}, from which an upgrade is tried, is not in this clone: fetch its history with git fetch --unshallow$/,
  );
});

/** A route that is new and one that is changed are programmed, and every gateway in service has both. Gives the time it took. */
async function changeArrives(state: string): Promise<string> {
  const name = state.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
  const startedMs = performance.now();
  await mergePatch(installation.plane.client, pathOf('modelroutes', 'small'), {
    spec: { targets: [{ name: 'sim', providerRef: { name: 'sim' }, upstreamModel: name, priority: 0 }] },
  });
  await installation.apply(modelRoute('team-a', name, ['sim']), importedApiKey('team-a', name));
  for (const ref of ['modelroute/small', `modelroute/${name}`, `apikey/${name}`, 'apikey/issued'])
    await installation.awaitCondition(ref, 'Programmed', 'team-a', 60);
  const tookMs = performance.now() - startedMs;
  const secret = ['get', 'secret', 'issued-key', '-n', 'team-a', '-o', 'jsonpath={.data.apiKey}'];
  const issued = Buffer.from(await installation.plane.mustKubectl(secret), 'base64').toString();
  for (const gateway of inService.keys()) {
    expect(await askGateway(gateway, importedKey('team-a', name), 'small')).toMatchObject({
      status: 200,
      model: name,
    });
    expect((await askGateway(gateway, key, name)).status).toBe(200);
    expect((await askGateway(gateway, issued, name)).status).toBe(200);
  }
  return `${Math.round(tookMs)} ms`;
}

/** They stay on the way back, where nobody reads them any more. */
async function applyPolicies(): Promise<void> {
  const namespaces = { names: ['team-a'] };
  const all = { selector: { matchLabels: { 'kubernetes.io/metadata.name': 'team-a' } } };
  const policies = {
    bounds: {
      namespaces,
      budgets: [{ period: 'Month', limit: '1000' }],
      limits: { requestsPerMinute: 100_000 },
    },
    labelled: { namespaces: all, limits: { maxConcurrentRequests: 1000 } },
    rights: { namespaces, egress: { allow: ['127.0.0.0/8'] }, modelPrefixes: ['acme'] },
    platform: { namespaces, role: 'Platform' },
  };
  for (const [name, spec] of Object.entries(policies)) await installation.apply(tenantPolicy(name, spec));
  for (const name of Object.keys(policies))
    await installation.awaitCondition(`tenantpolicy/${name}`, 'Ready', 'default', 60);
}

/** The wish is taken back, for N-1 refuses what it does not know; what has become of it stays. */
async function rotateIssued(): Promise<void> {
  const wish = (rotation: object | null) =>
    mergePatch(installation.plane.client, pathOf('apikeys', 'issued'), { spec: { rotation } });
  await wish({ trigger: 'before-the-way-back' });
  await installation.plane.mustKubectl([
    ...['wait', 'apikey/issued', '-n', 'team-a', '--for=jsonpath={.status.versions[0].id}=2'],
    '--timeout=60s',
  ]);
  await wish(null);
}

/** As a rollout with maxSurge 1 and maxUnavailable 0: first the new pod is in service, then the oldest one goes. */
async function replaceOneGateway(): Promise<void> {
  const [oldest] = inService.keys();
  if (oldest === undefined) throw new Error('there is no gateway in service');
  const gateway = await installation.startGateway();
  await gateway.process.answering(`${gateway.metricsUrl}/readyz`);
  enter(gateway);
  await leave(oldest);
  await oldest.pod.startDeletion();
  expect((await oldest.process.stop(20_000)).code).toBe(0);
  await oldest.pod.remove();
}

/** Both new ones run beside the old ones before those go, the leader last: for a while two versions stand for one lease. */
async function replaceOperators(): Promise<void> {
  const old = running;
  running = [await installation.startOperator(), await installation.startOperator()];
  for (const { process } of old) expect((await process.stop(20_000)).code).toBe(0);
}

function enter(gateway: GatewayProcess): void {
  inService.set(gateway, startTraffic([gateway], key, 'small'));
}

async function leave(gateway: GatewayProcess): Promise<void> {
  const traffic = inService.get(gateway);
  inService.delete(gateway);
  const { asked, bad } = (await traffic?.stop()) ?? { asked: 0, bad: [] };
  total.asked += asked;
  total.bad.push(...bad);
}

function pathOf(plural: string, name: string): string {
  return `/apis/penstock.dev/v1alpha1/namespaces/team-a/${plural}/${name}`;
}
