// What if the API server hangs, dies, comes back, or was never there? Gateways serve throughout, and the operator catches up.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { mergePatch } from '../../../kube/patch.ts';
import { type Simulator, startSimulator } from '../../../simulator/server.ts';
import { askGateway } from './ask.ts';
import { type Installation, useInstallation } from './installation.ts';
import {
  credentialSecret,
  importedApiKey,
  importedKey,
  modelRoute,
  namespaceOf,
  provider,
} from './manifests.ts';
import { startTraffic } from './traffic.ts';

const installation = useInstallation({ operators: 2, gateways: 3 });
const key = importedKey('platform', 'bot');
let simulator: Simulator;

beforeAll(async () => {
  simulator = await startSimulator();
});
afterAll(() => simulator.close());

/** Longer than the lease, the renewal, and the idle limit of every watch but the longest. */
const frozenMs = 60_000;

test('operators and gateways are up, and a route is served', async () => {
  await installation().apply(
    namespaceOf('platform'),
    credentialSecret('platform', 'sim', simulator.url, 'sk-one'),
    provider('platform', 'sim', simulator.url, 'sim'),
    modelRoute('platform', 'm', ['sim']),
    importedApiKey('platform', 'bot'),
  );
  await expectServed('m');
});

test('the API server frozen for 60 s: every request is answered, and afterwards changes arrive by themselves', async () => {
  const { gateways, plane } = installation();
  const traffic = startTraffic(gateways, key, 'm');
  plane.freeze();
  try {
    // The freeze itself is what is waited for: nothing happens in it that could be awaited.
    await new Promise((resolve) => setTimeout(resolve, frozenMs));
  } finally {
    plane.thaw();
  }
  const thawedMs = performance.now();
  await expectServed('after-the-freeze');
  const caughtUpMs = performance.now() - thawedMs;
  const { asked, bad } = await traffic.stop();
  console.log(
    `API server frozen for ${frozenMs / 1_000} s: ${bad.length} of ${asked} requests failed; ` +
      `a change made at the thaw was Programmed after ${Math.round(caughtUpMs)} ms`,
  );
  expect(bad).toEqual([]);
  expect(caughtUpMs).toBeLessThan(35_000);
}, 180_000);

test('the API server killed: gateways serve, a container restarts with its copy, and after its return changes arrive', async () => {
  const { gateways, operators, plane, restartGateway } = installation();
  const [restarted, ...others] = gateways;
  if (restarted === undefined) throw new Error('an installation has gateways');
  const traffic = startTraffic(others, key, 'm');
  await plane.kill();

  await restarted.process.stop();
  const startedMs = performance.now();
  // A token cannot be asked for now; the kubelet has it in the pod.
  await restartGateway(restarted);
  await restarted.process.answering(`${restarted.metricsUrl}/readyz`);
  const readyMs = performance.now() - startedMs;
  expect((await askGateway(restarted, key, 'm')).status).toBe(200);
  expect(await (await fetch(`${restarted.metricsUrl}/metrics`)).text()).toMatch(/source="copy"\} 1/);
  // What it has learnt from the copy is as strict as ever.
  expect((await askGateway(restarted, `${key}x`, 'm')).status).toBe(401);

  await plane.restart();
  const backMs = performance.now();
  await expectServed('after-the-return');
  const caughtUpMs = performance.now() - backMs;
  const { asked, bad } = await traffic.stop();
  console.log(
    `API server killed: ${bad.length} of ${asked} requests failed; a container restarted meanwhile was ready after ` +
      `${Math.round(readyMs)} ms; a change made at the return was Programmed after ${Math.round(caughtUpMs)} ms`,
  );
  expect(bad).toEqual([]);
  expect(caughtUpMs).toBeLessThan(35_000);
  // None of the operators has ended: an outage is nothing to die of.
  for (const { process } of operators) expect(process.stdout()).not.toContain('"ending"');
}, 180_000);

test('no operator runs: gateways serve, one more starts and serves, and what changed meanwhile arrives with the next operator', async () => {
  const { gateways, operators, plane, startGateway, startOperator } = installation();
  const traffic = startTraffic(gateways, key, 'm');
  for (const { process } of operators) {
    process.signal('SIGKILL');
    await process.exit;
  }
  const startedMs = performance.now();
  const late = await startGateway();
  await late.process.answering(`${late.metricsUrl}/readyz`);
  const readyMs = performance.now() - startedMs;
  expect((await askGateway(late, key, 'm')).status).toBe(200);

  await changeTo('while-nobody-leads');
  const { process } = await startOperator();
  const upMs = performance.now();
  await plane.mustKubectl([
    'wait',
    'modelroute/m',
    '-n',
    'platform',
    '--for=condition=Programmed',
    '--timeout=60s',
  ]);
  await expectAnswers('while-nobody-leads', [...gateways, late]);
  const caughtUpMs = performance.now() - upMs;
  const { asked, bad } = await traffic.stop();
  console.log(
    `no operator: ${bad.length} of ${asked} requests failed; a new gateway was ready after ${Math.round(readyMs)} ms; ` +
      `the next operator had waited out the lease and published ${Math.round(caughtUpMs)} ms after its start`,
  );
  expect(bad).toEqual([]);
  await process.stop();
}, 120_000);

/** Changes the route to another upstream model, waits until it is said to be everywhere, and sees that it is. */
async function expectServed(upstreamModel: string): Promise<void> {
  const { gateways, plane } = installation();
  await changeTo(upstreamModel);
  await plane.mustKubectl([
    'wait',
    'modelroute/m',
    '-n',
    'platform',
    '--for=condition=Programmed',
    '--timeout=60s',
  ]);
  await plane.mustKubectl([
    'wait',
    'apikey/bot',
    '-n',
    'platform',
    '--for=condition=Programmed',
    '--timeout=60s',
  ]);
  await expectAnswers(upstreamModel, gateways);
}

async function changeTo(upstreamModel: string): Promise<void> {
  const path = '/apis/penstock.dev/v1alpha1/namespaces/platform/modelroutes/m';
  const targets = [{ name: 'sim', providerRef: { name: 'sim' }, upstreamModel }];
  await mergePatch(installation().plane.client, path, { spec: { targets } });
}

async function expectAnswers(upstreamModel: string, gateways: Installation['gateways']): Promise<void> {
  for (const gateway of gateways) {
    expect(await askGateway(gateway, key, 'm')).toMatchObject({ status: 200, model: upstreamModel });
  }
}
