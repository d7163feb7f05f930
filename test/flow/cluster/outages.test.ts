// What if the API server hangs, dies, comes back, or was never there? Gateways serve throughout, and the operator catches up. `npm test`
// has one gateway less and freezes for a third of the time; all of it: `npm run e2e -- properties`.

import { expect, test } from 'vitest';
import { mergePatch } from '../../../core/kube/patch.ts';
import { startApiProxy } from '../../cluster/api-proxy.ts';
import { serviceAccountToken } from '../../cluster/identities.ts';
import { runs } from '../../support/runs.ts';
import { askGateway } from './ask.ts';
import { type Installation, namespace, useInstallation } from './installation.ts';
import {
  credentialSecret,
  importedApiKey,
  importedKey,
  modelRoute,
  namespaceOf,
  provider,
} from './manifests.ts';
import { useSimulator } from './simulator.ts';
import { startTraffic } from './traffic.ts';

const installation = useInstallation({ operators: 2, gateways: runs(3, 2), losesRights: true });
const key = importedKey('platform', 'bot');
const simulator = useSimulator();

/** Longer than the lease and the renewal; in all of its length, than the idle limit of every watch but the longest. */
const frozenMs = runs(60_000, 3);
/** What a freeze breaks stays broken until the thaw. */
const askedWhileFrozenEveryMs = 500;
const stormMs = 4_000;
/** Sooner than any watch is made again. */
const stormEveryMs = 200;

test('operators and gateways run, and a route is served', async () => {
  await installation().apply(
    namespaceOf('platform'),
    credentialSecret('platform', 'sim', simulator().url, 'sk-one'),
    provider('platform', 'sim', simulator().url, 'sim'),
    modelRoute('platform', 'm', ['sim']),
    importedApiKey('platform', 'bot'),
  );
  await expectServed('m');
});

test('the API server frozen: every request is answered, and afterwards changes arrive by themselves', async () => {
  const { gateways, plane } = installation();
  const traffic = startTraffic(gateways, key, 'm', undefined, askedWhileFrozenEveryMs);
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
    `API server killed: ${bad.length} of ${asked} requests failed; a container restarted at the same time was ready after ` +
      `${Math.round(readyMs)} ms; a change made at the return was Programmed after ${Math.round(caughtUpMs)} ms`,
  );
  expect(bad).toEqual([]);
  expect(caughtUpMs).toBeLessThan(35_000);
  // None of the operators has ended: an outage is nothing to die of.
  for (const { process } of operators) expect(process.stdout()).not.toContain('"ending"');
}, 180_000);

test('no operator runs: gateways serve, a new gateway starts and serves, and changes arrive with the next operator', async () => {
  const { awaitCondition, gateways, operators, startGateway, startOperator } = installation();
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
  await awaitCondition('modelroute/m', 'Programmed', 'platform', 60);
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

// Case 10: relists by all at once and for ever bring down the server that has just answered 410.
test('a storm of 410 over every watch and every list: requests are answered, the API server is not flooded, and all changes arrive', async () => {
  const { apply, gateways, operators, plane, restartGateway, startOperator } = installation();
  const refused: string[] = [];
  const lists = new Map<string, number>();
  let requests = 0;
  let isStorm = false;
  let expirations = 0;
  let turns = 0;
  const proxy = await startApiProxy(plane, {
    // The few objects of a test fill several pages.
    pageMax: 2,
    isExpired({ method, query }) {
      if (!isStorm || method !== 'GET') return false;
      // Every other watch, and every other page but the first of a list.
      const isExpired = (query.has('watch') || query.has('continue')) && turns++ % 2 === 0;
      if (isExpired) expirations += 1;
      return isExpired;
    },
    after({ method, path, query, caller }, status) {
      requests += 1;
      if (status === 403 || status === 429 || status >= 500) refused.push(`${status} ${method} ${path}`);
      if (!isStorm || method !== 'GET' || !query.has('limit') || query.has('continue')) return;
      const what = `${caller} ${path}?${query.get('labelSelector')}&${query.get('fieldSelector')}`;
      lists.set(what, (lists.get(what) ?? 0) + 1);
    },
  });
  try {
    const { hostname, port } = new URL(proxy.url);
    await Promise.all(
      gateways.map(async (gateway) => {
        await gateway.process.stop();
        await restartGateway(gateway, { KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port });
        await gateway.process.answering(`${gateway.metricsUrl}/readyz`);
      }),
    );
    const before = operators.length;
    for (const name of ['storm-one', 'storm-two']) {
      const token = await serviceAccountToken(plane, namespace, 'penstock-operator');
      await startOperator({ KUBECONFIG: await proxy.kubeconfig(name, token) });
    }
    await expectServed('before-the-storm');

    const traffic = startTraffic(gateways, key, 'm');
    const startedMs = performance.now();
    const quiet = requests;
    isStorm = true;
    const stopExpiring = every(stormEveryMs, () => {
      expirations += proxy.expireWatches();
    });
    for (const name of ['a', 'b', 'c', 'd', 'e']) {
      await changeTo(`storm-${name}`);
      await apply(importedApiKey('platform', `storm-${name}`));
      if (name !== 'a')
        await plane.mustKubectl(['delete', 'apikey', 'storm-a', '--ignore-not-found', '-n', 'platform']);
    }
    // Time is what makes a storm: watches that wait longer after each 410 must reach their longer waits.
    const leftMs = Math.max(0, stormMs - (performance.now() - startedMs));
    await new Promise((resolve) => setTimeout(resolve, leftMs));
    stopExpiring();
    isStorm = false;
    const lastedMs = performance.now() - startedMs;
    const asked = requests - quiet;

    const calmMs = performance.now();
    await expectServed('after-the-storm');
    for (const name of ['b', 'c', 'd', 'e']) {
      await installation().awaitCondition(`apikey/storm-${name}`, 'Programmed', 'platform', 60);
    }
    const caughtUpMs = performance.now() - calmMs;
    for (const gateway of gateways) {
      const said = async (name: string) =>
        (await askGateway(gateway, importedKey('platform', `storm-${name}`), 'm')).status;
      expect(await Promise.all(['a', 'b', 'e'].map(said))).toEqual([401, 200, 200]);
    }
    const { asked: answered, bad } = await traffic.stop();
    const most = Math.max(...lists.values());
    console.log(
      `410 for ${(lastedMs / 1_000).toFixed(1)} s: said ${expirations} times to ${lists.size} watches; ${bad.length} of ${answered} ` +
        `requests failed; ${asked} calls of the API server, no watch was listed more than ${most} times, ${refused.length} calls ` +
        `were refused; a change made at its end was Programmed everywhere after ${Math.round(caughtUpMs)} ms`,
    );
    expect(bad).toEqual([]);
    expect(refused).toEqual([]);
    // Each gateway has its own watch, each operator a dozen.
    expect(lists.size).toBeGreaterThan(gateways.length + 2 * 10);
    expect(expirations).toBeGreaterThan(lists.size);
    // A watch that nothing comes through waits for 0.4 s at least, and twice as long each time.
    const quietest = [...lists].filter(([what]) => what.includes('provider-credential'));
    expect(quietest.length).toBeGreaterThan(0);
    const listsMax = 2 + Math.floor(Math.log2(1 + lastedMs / 400));
    expect(quietest.filter(([, count]) => count > listsMax)).toEqual([]);
    // One that learns of changes begins again with each; a list whose pages expire begins four times at most.
    expect(most).toBeLessThanOrEqual(4 * Math.ceil(1 + lastedMs / 400));
    expect(caughtUpMs).toBeLessThan(35_000);
    for (const { process } of operators.slice(before)) {
      expect(process.stdout()).not.toContain('"ending"');
      await process.stop();
    }
  } finally {
    await proxy.close();
  }
}, 180_000);

/** Gives a function that ends it. */
function every(ms: number, run: () => void): () => void {
  const timer = setInterval(run, ms);
  return () => clearInterval(timer);
}

/** Changes the route to another upstream model, waits until it is said to be everywhere, and sees that it is. */
async function expectServed(upstreamModel: string): Promise<void> {
  const { awaitCondition, gateways } = installation();
  await changeTo(upstreamModel);
  await awaitCondition('modelroute/m', 'Programmed', 'platform', 60);
  await awaitCondition('apikey/bot', 'Programmed', 'platform', 60);
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
