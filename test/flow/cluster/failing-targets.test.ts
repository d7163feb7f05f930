// Does `kubectl` say of a model whose every call fails that it fails, since when and why, and that it works again?

import { afterAll, beforeAll, expect, test } from 'vitest';
import { mergePatch } from '../../../core/kube/patch.ts';
import { type Simulator, startSimulator } from '../../../simulator/server.ts';
import { clusterWaitMs } from '../../cluster/shared.ts';
import { until } from '../../support/until.ts';
import { askGateway } from './ask.ts';
import { type Installation, startInstallation } from './installation.ts';
import {
  credentialSecret,
  importedApiKey,
  importedKey,
  modelRoute,
  namespaceOf,
  provider,
} from './manifests.ts';
import { columnsOf, describedBy } from './reported.ts';

const api = '/apis/penstock.dev/v1alpha1/namespaces/team-a';
const key = importedKey('team-a', 'caller');
const nowhere = 'http://nowhere.invalid';
const unchecked = { healthCheck: { active: { type: 'Disabled' } } };
const target = (providerName: string, upstreamModel: string) => ({
  targets: [{ name: 'main', providerRef: { name: providerName }, upstreamModel }],
});

let simulator: Simulator;
let installation: Installation;

beforeAll(async () => {
  simulator = await startSimulator();
  installation = await startInstallation({ operators: 1, gateways: 2 });
  await installation.apply(
    namespaceOf('team-a'),
    credentialSecret('team-a', 'sim', simulator.url, 'sk-one'),
    provider('team-a', 'sim', simulator.url, 'sim', unchecked),
    provider('team-a', 'lost', nowhere, 'none', { ...unchecked, auth: { type: 'None' } }),
    modelRoute('team-a', 'broken', [], target('sim', 'm+fault=error-500')),
    modelRoute('team-a', 'fine', [], target('sim', 'm')),
    modelRoute('team-a', 'gone', [], target('lost', 'm')),
    importedApiKey('team-a', 'caller'),
  );
  for (const name of ['broken', 'fine', 'gone'])
    await installation.awaitCondition(`modelroute/${name}`, 'Ready', 'team-a');
  await installation.awaitCondition('apikey/caller', 'Ready', 'team-a');
}, clusterWaitMs);

afterAll(async () => {
  await installation?.stop();
  await simulator.close();
}, 60_000);

const columns = (ref: string): Promise<string> => columnsOf(installation.plane, ref, 'team-a');
const ask = async (model: string): Promise<readonly number[]> => {
  const answers = installation.gateways.map((gateway) => askGateway(gateway, key, model));
  return (await Promise.all(answers)).map(({ status }) => status);
};

test('a model with HTTP 500 and one without a name in DNS are Failing after their first call, and say why', async () => {
  expect(await ask('fine')).toEqual([200, 200]);
  expect(await ask('broken')).toEqual([502, 502]);
  expect(await ask('gone')).toEqual([502, 502]);
  const startedMs = performance.now();
  await until(async () => /Failing/.test(await columns('modelroute/broken')));
  await until(async () => /Failing/.test(await columns('modelroute/gone')));
  const tookMs = performance.now() - startedMs;
  expect(await columns('modelroute/broken')).toMatch(
    /broken +broken +Listed +Failing +True +0 +1 .* every call has failed since \S+Z: HTTP 500; see the condition Healthy of Provider team-a\/sim/,
  );
  expect(await columns('modelroute/gone')).toMatch(
    /Failing +True +0 +1 .* every call has failed since \S+Z: its name cannot be resolved;/,
  );
  await until(async () => /Failing/.test(await columns('provider/lost')));
  expect(await columns('provider/lost')).toMatch(
    /Failing +True +False +1 .* every call has failed since \S+Z: its name cannot be resolved; check the host of spec.baseURL/,
  );
  await until(async () => /Degraded/.test(await columns('provider/sim')));
  expect(await columns('provider/sim')).toMatch(
    /model m\+fault=error-500: every call has failed since \S+Z: HTTP 500; check whether its service is up/,
  );
  expect(await describedBy(installation.plane, 'modelroute/broken', 'team-a')).toMatch(
    /every call has failed since \S+Z: HTTP 500/,
  );
  expect(await columns('modelroute/fine')).toMatch(/Serving +True +1 +1/);
  console.log(`two failing models were Failing in kubectl after ${Math.round(tookMs)} ms`);
  expect(tookMs).toBeLessThan(10_000);
}, 60_000);

test('a model that goes on failing is not written again', async () => {
  const version = () =>
    installation.plane.mustKubectl([
      ...['get', 'modelroute/broken', '-n', 'team-a'],
      '--output=jsonpath={.metadata.resourceVersion}',
    ]);
  const before = await version();
  for (let n = 0; n < 20; n += 1) expect(await ask('broken')).not.toContain(200);
  // The operator has heard that the breakers are open: it has nothing to add.
  const [operator] = installation.operators;
  const open = expect.objectContaining({ upstreamModel: 'm+fault=error-500', state: 'open' });
  const one = { troubles: expect.arrayContaining([open]) };
  const readTable = async (): Promise<unknown> => (await fetch(`${operator?.metricsUrl}/debug/table`)).json();
  await expect.poll(readTable, { timeout: 20_000 }).toMatchObject({ pods: [one, one] });
  expect(await version()).toBe(before);
}, 60_000);

test('a model that an edit repairs is Serving, without a call', async () => {
  const { client } = installation.plane;
  await mergePatch(client, `${api}/modelroutes/broken`, { spec: target('sim', 'm') });
  await until(async () => /Serving/.test(await columns('modelroute/broken')));
  expect(await ask('broken')).toEqual([200, 200]);
  await mergePatch(client, `${api}/modelroutes/gone`, { spec: target('sim', 'm') });
  await until(async () => /Serving/.test(await columns('modelroute/gone')));
  expect(await columns('modelroute/gone')).not.toContain('failed');
}, 60_000);
