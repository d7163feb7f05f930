// What worked goes on working: objects that are edited into something wrong or lose their Secret, a table that somebody takes back
// to an earlier one; under traffic, across leaders. What was taken back by its owner stops at once.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { EXCHANGE_PATH } from '../../../core/contract/exchange.ts';
import { mergePatch, readObject } from '../../../core/kube/patch.ts';
import { objectPath, pods, secrets } from '../../../core/kube/paths.ts';
import { type Simulator, startSimulator } from '../../../simulator/server.ts';
import { claimPodIp, createGatewayPod } from '../../cluster/gateway-pods.ts';
import { clusterWaitMs } from '../../cluster/shared.ts';
import { runs } from '../../support/runs.ts';
import { until } from '../../support/until.ts';
import { askGateway, askUntil } from './ask.ts';
import { type Installation, namespace, startInstallation, tableNamespace } from './installation.ts';
import {
  credentialSecret,
  importedApiKey,
  importedKey,
  issuedApiKey,
  modelRoute,
  namespaceOf,
  provider,
} from './manifests.ts';
import { describedBy, eventsOf } from './reported.ts';
import { startTraffic } from './traffic.ts';

const api = '/apis/penstock.dev/v1alpha1/namespaces/team-a';
const holdMs = 15_000;
const key = importedKey('team-a', 'bot');
const pointer = { namespace: tableNamespace, name: 'penstock-current' };
const target = (upstreamModel: string, more: object = {}) => ({
  spec: { targets: [{ name: 'sim', providerRef: { name: 'sim' }, upstreamModel, ...more }] },
});
/** The caller's own member: no schema of Kubernetes can refuse it. */
const WRONG_ROUTE = target('m', { parameters: { messages: [] } });
const RIGHT_ROUTE = target('m', { parameters: null });
const WRONG_PROVIDER = { spec: { options: { bogus: 'yes' } } };
const RIGHT_PROVIDER = { spec: { options: null } };

let simulator: Simulator;
let installation: Installation;

beforeAll(async () => {
  simulator = await startSimulator();
  installation = await startInstallation({
    operators: 1,
    gateways: runs(2),
    operatorEnv: { PENSTOCK_LAST_KNOWN_GOOD: `${holdMs / 1000}s` },
  });
  await installation.apply(
    namespaceOf('team-a'),
    credentialSecret('team-a', 'sim', simulator.url, 'sk-one'),
    credentialSecret('team-a', 'shared', simulator.url, 'sk-two'),
    provider('team-a', 'sim', simulator.url, 'sim'),
    provider('team-a', 'shared', simulator.url, 'shared'),
    modelRoute('team-a', 'chat', ['sim']),
    modelRoute('team-a', 'steady', ['sim']),
    modelRoute('team-a', 'borrowed', ['shared']),
    importedApiKey('team-a', 'bot'),
    importedApiKey('team-a', 'leaver'),
    issuedApiKey('team-a', 'rotated', { rotation: { overlap: '1h' } }),
  );
  for (const ref of [
    'modelroute/chat',
    'modelroute/steady',
    'modelroute/borrowed',
    'apikey/leaver',
    'apikey/rotated',
  ]) {
    await installation.awaitCondition(ref, 'Ready', 'team-a');
  }
}, clusterWaitMs);

afterAll(async () => {
  await installation?.stop();
  await simulator.close();
}, 60_000);

const edit = (plural: string, name: string, change: object) =>
  mergePatch(installation.plane.client, `${api}/${plural}/${name}`, change);

const statusSchema = z.object({
  metadata: z.object({ generation: z.number() }),
  status: z
    .object({
      observedGeneration: z.number().default(0),
      conditions: z.array(
        z.object({
          type: z.string(),
          status: z.string(),
          reason: z.string(),
          message: z.string(),
          observedGeneration: z.number().optional(),
          lastTransitionTime: z.string(),
        }),
      ),
    })
    .default({ observedGeneration: 0, conditions: [] }),
});

/** Reads until the condition is as wanted. */
async function conditionOf(
  plural: string,
  name: string,
  type: string,
  isWanted: (
    condition: { readonly status: string; readonly reason: string; readonly message: string } | undefined,
  ) => boolean,
) {
  return await until(async () => {
    const object = await readObject(installation.plane.client, `${api}/${plural}/${name}`);
    const parsed = statusSchema.parse(object);
    const found = parsed.status.conditions.find((one) => one.type === type);
    return isWanted(found) && { ...parsed, found };
  });
}

const isHeld = (condition: { readonly reason: string } | undefined) => condition?.reason === 'LastKnownGood';

/** The leader gives its lease back; another one has it. */
async function changeLeader(): Promise<void> {
  const { operators, startOperator } = installation;
  const leader = operators.at(-1);
  const next = await startOperator();
  await leader?.process.stop(20_000);
  await next.process.line(/"leading"/);
}

test('wrong edits under traffic fail no request and block no others, also under a new leader; they leave service after the hour', async () => {
  const { apply, awaitCondition, gateways, plane } = installation;
  const traffic = startTraffic(gateways, key, 'chat');
  await edit('modelroutes', 'chat', WRONG_ROUTE);
  await edit('providers', 'sim', WRONG_PROVIDER);
  const { found: first, status } = await conditionOf('modelroutes', 'chat', 'Degraded', isHeld);
  await conditionOf('providers', 'sim', 'Degraded', isHeld);
  expect(first?.message).toMatch(/generation 1 serves until .*Z, .*spec\.targets\[0\]\.parameters\.messages/);
  expect(status.observedGeneration).toBe(2);
  for (const type of ['Accepted', 'Programmed', 'Ready']) {
    expect(status.conditions.find((one) => one.type === type)).toMatchObject({
      status: 'True',
      observedGeneration: 1,
    });
  }
  // A wait for the edit to serve must not succeed.
  await expect(awaitCondition('modelroute/chat', 'Ready', 'team-a', 1)).rejects.toThrow(/timed out/);

  await apply(modelRoute('team-a', 'later', ['sim']));
  await awaitCondition('modelroute/later', 'Ready', 'team-a');
  for (const gateway of gateways) expect((await askGateway(gateway, key, 'later')).status).toBe(200);

  await changeLeader();
  const { found: second } = await conditionOf('modelroutes', 'chat', 'Degraded', isHeld);
  expect(second).toEqual(first);
  const { asked, bad } = await traffic.stop();
  console.log(`wrong edits and a change of leaders: ${bad.length} failed of ${asked}`);
  expect(bad).toEqual([]);
  expect(asked).toBeGreaterThan(20);

  const untilMs = Date.parse(first?.lastTransitionTime ?? '') + holdMs;
  for (const gateway of gateways) await askUntil(gateway, key, 'chat', ({ status: said }) => said === 404);
  expect(Date.now()).toBeGreaterThanOrEqual(untilMs);
  expect(Date.now()).toBeLessThan(untilMs + 10_000);
  await conditionOf('modelroutes', 'chat', 'Ready', (one) => one?.status === 'False');
  const reported = await eventsOf(
    plane,
    { kind: 'ModelRoute', namespace: 'team-a', name: 'chat' },
    'Invalid',
  );
  expect(reported.filter(({ reason }) => reason === 'LastKnownGood').map(({ note }) => note)).toEqual([
    expect.stringContaining('generation 1 serves until'),
    expect.stringContaining('left service'),
  ]);

  await edit('providers', 'sim', RIGHT_PROVIDER);
  await edit('modelroutes', 'chat', RIGHT_ROUTE);
  await awaitCondition('modelroute/chat', 'Ready', 'team-a');
  for (const gateway of gateways) expect((await askGateway(gateway, key, 'chat')).status).toBe(200);
}, 90_000);

test('a deleted Secret stays in use for a while; one without its label stops at once', async () => {
  const { apply, awaitCondition, gateways, plane } = installation;
  const traffic = startTraffic(gateways, key, 'borrowed');
  await plane.mustKubectl(['delete', 'secret', 'shared', '-n', 'team-a']);
  const { status } = await conditionOf('providers', 'shared', 'Degraded', isHeld);
  expect(status.conditions.find(({ type }) => type === 'ResolvedRefs')).toMatchObject({
    status: 'False',
    reason: 'SecretNotFound',
  });
  expect(status.conditions.find(({ type }) => type === 'Ready')?.status).toBe('True');
  const { asked, bad } = await traffic.stop();
  console.log(`a Secret deleted: ${bad.length} failed of ${asked}`);
  expect(bad).toEqual([]);

  const shared = credentialSecret('team-a', 'shared', simulator.url, 'sk-two');
  await apply(shared);
  await conditionOf('providers', 'shared', 'Degraded', (one) => one === undefined);
  // Wrong, and so held; then its Secret is taken back.
  await edit('providers', 'shared', WRONG_PROVIDER);
  await conditionOf('providers', 'shared', 'Degraded', isHeld);
  for (const gateway of gateways) expect((await askGateway(gateway, key, 'borrowed')).status).toBe(200);
  const path = objectPath(secrets, { namespace: 'team-a', name: 'shared' });
  const startedMs = performance.now();
  await mergePatch(plane.client, path, {
    metadata: { labels: { 'penstock.dev/provider-credential': null } },
  });
  for (const gateway of gateways)
    await askUntil(gateway, key, 'borrowed', ({ status: said }) => said !== 200);
  const stoppedMs = performance.now() - startedMs;
  console.log(
    `a Secret no longer shared: its value is out of use on all gateways after ${Math.round(stoppedMs)} ms`,
  );
  expect(stoppedMs).toBeLessThan(5_000);
  await apply(shared);
  await edit('providers', 'shared', RIGHT_PROVIDER);
  await awaitCondition('modelroute/borrowed', 'Ready', 'team-a');
}, 60_000);

async function pinTo(value: string | null): Promise<void> {
  const metadata = { annotations: { 'penstock.dev/pin': value } };
  await mergePatch(installation.plane.client, objectPath(secrets, pointer), { metadata });
}

async function generationInUse(): Promise<number> {
  const object = await readObject(installation.plane.client, objectPath(secrets, pointer));
  const { data } = z.object({ data: z.object({ manifest: z.string() }) }).parse(object);
  const manifest: unknown = JSON.parse(Buffer.from(data.manifest, 'base64').toString());
  return z.object({ generation: z.number() }).parse(manifest).generation;
}

/** What the Secret of `rotated` holds, as soon as it is another key. */
async function keyOtherThan(before: string | undefined): Promise<string> {
  const path = objectPath(secrets, { namespace: 'team-a', name: 'rotated-key' });
  return until(async () => {
    const object = await readObject(installation.plane.client, path);
    const { data } = z.object({ data: z.object({ apiKey: z.string() }) }).parse(object);
    const found = Buffer.from(data.apiKey, 'base64').toString();
    return found !== before && found;
  }, 5);
}

const isPinned = (condition: { readonly reason: string } | undefined) => condition?.reason === 'Pinned';

test('pinned, an earlier table is served, and only its keys can stop, across leaders; unpinned, all changes arrive', async () => {
  const { apply, awaitCondition, gateways, plane } = installation;
  const leaver = importedKey('team-a', 'leaver');
  const serves = async (model: string, upstreamModel: string) => {
    for (const gateway of gateways) {
      await askUntil(gateway, key, model, (said) => said.model === upstreamModel);
    }
  };
  const then = await generationInUse();
  await edit('modelroutes', 'chat', target('m-2'));
  await serves('chat', 'm-2');
  await apply(modelRoute('team-a', 'newest', ['sim']));
  await awaitCondition('modelroute/newest', 'Ready', 'team-a');
  await edit('apikeys', 'leaver', { spec: { disabled: true } });
  await awaitCondition('apikey/leaver', 'Disabled', 'team-a');

  const before = await generationInUse();
  const traffic = startTraffic(gateways, key, 'steady');
  await pinTo(String(then));
  await serves('chat', 'm');
  expect(await generationInUse()).toBeGreaterThan(before);
  for (const gateway of gateways) {
    expect((await askGateway(gateway, key, 'newest')).status).toBe(404);
    // It was in the table of that time, and has been taken away since.
    expect((await askGateway(gateway, leaver, 'steady')).status).toBe(401);
  }
  const { found } = await conditionOf('modelroutes', 'chat', 'Programmed', isPinned);
  expect(found).toMatchObject({ status: 'Unknown', message: expect.stringContaining(`generation ${then}`) });
  await conditionOf('modelroutes', 'newest', 'Programmed', isPinned);
  const [event] = (await eventsOf(plane, { kind: 'Secret', ...pointer }, 'Pinned')).filter(
    ({ reason }) => reason === 'Pinned',
  );
  expect(event).toMatchObject({ type: 'Warning', note: expect.stringContaining(`generation ${then}`) });
  const metrics = await (await fetch(`${installation.operators.at(-1)?.metricsUrl}/metrics`)).text();
  expect(metrics).toMatch(/^penstock_operator_pinned 1$/m);
  // Of an object that is as it was then, nothing is said.
  expect(await describedBy(plane, 'modelroute/steady', 'team-a')).not.toContain('Pinned');

  await changeLeader();
  await apply(importedApiKey('team-a', 'late'));
  await edit('modelroutes', 'chat', target('m-3'));
  await conditionOf('apikeys', 'late', 'Programmed', isPinned);
  for (const gateway of gateways) {
    expect(await askGateway(gateway, key, 'chat')).toMatchObject({ status: 200, model: 'm' });
    expect((await askGateway(gateway, importedKey('team-a', 'late'), 'chat')).status).toBe(401);
  }

  // Keys are no part of what is pinned: one that is rotated is known to every gateway before it is in its Secret.
  const old = await keyOtherThan(undefined);
  await edit('apikeys', 'rotated', { spec: { rotation: { trigger: 'leaked' } } });
  const rotated = await keyOtherThan(old);
  for (const gateway of gateways) {
    expect((await askGateway(gateway, rotated, 'chat')).status).toBe(200);
    expect((await askGateway(gateway, old, 'chat')).status).toBe(200);
  }

  await pinTo(null);
  await serves('chat', 'm-3');
  for (const ref of ['modelroute/chat', 'modelroute/newest', 'apikey/late']) {
    await awaitCondition(ref, 'Ready', 'team-a');
  }
  await eventsOf(plane, { kind: 'Secret', ...pointer }, 'Unpinned');
  const { asked, bad } = await traffic.stop();
  console.log(`pinned, another leader, unpinned: ${bad.length} failed of ${asked}`);
  expect(bad).toEqual([]);
}, 90_000);

test('pinned to an unknown generation, the current table stays, and an event names the available ones', async () => {
  const { awaitCondition, gateways, plane } = installation;
  await pinTo('7');
  const reported = await eventsOf(plane, { kind: 'Secret', ...pointer }, 'PinImpossible');
  expect(reported.find(({ reason }) => reason === 'PinImpossible')?.note).toMatch(
    /cannot be pinned to 7: table generation 7 is not kept; kept are \d+/,
  );
  const stays = await generationInUse();
  await edit('modelroutes', 'chat', target('m-4'));
  await conditionOf('modelroutes', 'chat', 'Programmed', isPinned);
  expect(await generationInUse()).toBe(stays);
  for (const gateway of gateways) expect((await askGateway(gateway, key, 'chat')).model).toBe('m-3');
  await pinTo(null);
  await awaitCondition('modelroute/chat', 'Ready', 'team-a');
  for (const gateway of gateways) expect((await askGateway(gateway, key, 'chat')).model).toBe('m-4');
}, 60_000);

/** A gateway of the version before: ready, on whatever table is in use, and it reads tables of format 1 only. */
async function startOldGateway() {
  const { gateways, plane } = installation;
  const of = { namespace, name: gateways[0]?.name ?? '' };
  const { labels = {} } = (await readObject(plane.client, objectPath(pods, of))).metadata;
  const ip = await claimPodIp(plane);
  const server = createServer((request, response) => {
    request.setEncoding('utf8').on('data', async (text: string) => {
      const generation = await generationInUse();
      const state = `${generation}`;
      const seen: unknown = JSON.parse(text).seen;
      const answer = () => {
        response.setHeader('content-type', 'application/json');
        const table = { epoch: 1, generation, sinceMs: 0, source: 'api' };
        response.end(JSON.stringify({ state, table, formats: { min: 1, max: 1 }, health: [] }));
      };
      // No more than a few questions a second.
      if (seen === state) setTimeout(answer, 200).unref();
      else answer();
    });
    if (request.url !== EXCHANGE_PATH) response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, ip, resolve));
  const { port } = server.address() as AddressInfo;
  const name = 'penstock-gateway-old';
  const pod = await createGatewayPod(plane, { namespace, name, labels, internalPort: port, ip });
  await pod.setReady(true);
  return {
    name,
    async stop() {
      await pod.remove();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

test('an object that an older gateway cannot read keeps its earlier form until that gateway is gone, and blocks no others', async () => {
  const { apply, awaitCondition, gateways } = installation;
  const proxy = '127.0.0.1:9';
  const shared = credentialSecret('team-a', 'tunnel', simulator.url, 'sk-three');
  Object.assign(shared, {
    metadata: {
      namespace: 'team-a',
      name: 'tunnel',
      labels: { 'penstock.dev/provider-credential': 'true' },
      annotations: { 'penstock.dev/allowed-hosts': `${new URL(simulator.url).host},${proxy}` },
    },
  });
  await apply(
    shared,
    provider('team-a', 'tunnel', simulator.url, 'tunnel'),
    modelRoute('team-a', 'far', ['tunnel']),
  );
  await awaitCondition('modelroute/far', 'Ready', 'team-a');
  const old = await startOldGateway();
  try {
    await edit('providers', 'tunnel', { spec: { proxy: { url: `http://${proxy}` } } });
    // Until the operator has asked the pod, the message says that this is not known.
    const { found } = await conditionOf('providers', 'tunnel', 'Programmed', (one) =>
      Boolean(one?.message.includes('reads tables up to')),
    );
    expect(found).toMatchObject({
      status: 'False',
      reason: 'Pending',
      message: `gateway pod ${old.name} reads tables up to format 1, and the current form of the object needs format 2; upgrade the gateways, the earlier form serves until then`,
    });
    // All else moves.
    await edit('modelroutes', 'chat', target('m-5'));
    await awaitCondition('modelroute/chat', 'Programmed', 'team-a');
    for (const gateway of gateways) {
      expect((await askGateway(gateway, key, 'chat')).model).toBe('m-5');
      expect((await askGateway(gateway, key, 'far')).status).toBe(200);
    }
  } finally {
    await old.stop();
  }
  await awaitCondition('provider/tunnel', 'Programmed', 'team-a');
  // Nobody is at that proxy.
  for (const gateway of gateways) expect((await askGateway(gateway, key, 'far')).status).not.toBe(200);
}, 60_000);
