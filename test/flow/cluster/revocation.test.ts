// How fast does a key stop working, and what does not stop it? Taken away by its owner: at once, however many. Gone from a
// list, with nobody having deleted it: not at all, until a human says so.

import { expect, test } from 'vitest';
import { mergePatch } from '../../../core/kube/patch.ts';
import { runs } from '../../support/runs.ts';
import { until } from '../../support/until.ts';
import { askGateway, askUntil } from './ask.ts';
import { describeMs, quantile } from './figures.ts';
import { type Installation, useInstallation } from './installation.ts';
import {
  credentialSecret,
  importedApiKey,
  importedKey,
  modelRoute,
  namespaceOf,
  provider,
} from './manifests.ts';
import { eventsOf } from './reported.ts';
import { useSimulator } from './simulator.ts';

const installation = useInstallation({
  operators: 2,
  gateways: runs(3, 2),
  plane: { hasOwnEtcd: true },
  losesRights: true,
});
const simulator = useSimulator();

/** A quarter of them in `npm test`. */
const keyCount = runs(40, 4);
const lanes = 10;
/** More than the twenty from which on an absence is held. */
const manyCount = runs(50, 2);
const names = Array.from({ length: keyCount }, (_, index) => `bot-${index}`);

test(`a disabled key is refused by every gateway; ${keyCount} of them, ten at a time`, async () => {
  const { apply, awaitCondition, gateways, plane } = installation();
  await apply(
    ...['platform', 'team-a', 'team-b', 'team-c'].map((name) => namespaceOf(name)),
    credentialSecret('platform', 'sim', simulator().url, 'sk-one'),
    provider('platform', 'sim', simulator().url, 'sim'),
    modelRoute('platform', 'shared', ['sim'], {
      model: 'penstock/shared',
      allowedNamespaces: { from: 'All' },
    }),
    ...names.map((name) => importedApiKey('team-a', name)),
  );
  await plane.mustKubectl([
    'wait',
    'apikey',
    '--all',
    '-n',
    'team-a',
    '--for=condition=Programmed',
    '--timeout=30s',
  ]);

  const takenMs: number[] = [];
  const disable = async (name: string): Promise<void> => {
    const key = importedKey('team-a', name);
    for (const gateway of gateways) expect(await statusOf(gateway, key)).toBe(200);
    const path = `/apis/penstock.dev/v1alpha1/namespaces/team-a/apikeys/${name}`;
    const startedMs = performance.now();
    await mergePatch(plane.client, path, { spec: { disabled: true } });
    const times = await Promise.all(
      gateways.map(async (gateway) => {
        await refused(gateway, key);
        return performance.now();
      }),
    );
    takenMs.push(Math.max(...times) - startedMs);
  };
  const waiting = [...names];
  await Promise.all(
    Array.from({ length: lanes }, async () => {
      for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) await disable(name);
    }),
  );
  console.log(`disabled to 401 on every gateway: ${describeMs(takenMs)}`);
  expect(takenMs).toHaveLength(keyCount);
  expect(quantile(takenMs, 1)).toBeLessThan(5_000);

  // And back: nothing stays behind that refuses it.
  const path = '/apis/penstock.dev/v1alpha1/namespaces/team-a/apikeys/bot-0';
  await mergePatch(plane.client, path, { spec: { disabled: false } });
  await awaitCondition('apikey/bot-0', 'Ready', 'team-a');
  for (const gateway of gateways) expect(await statusOf(gateway, importedKey('team-a', 'bot-0'))).toBe(200);
}, 120_000);

test('a single revocation does not wait for another one', async () => {
  const { awaitCondition, gateways, operators, plane } = installation();
  const said = () => operators.flatMap(({ process }) => revocationsMs(process.stdout() + process.stderr()));
  const before = said().length;
  const path = '/apis/penstock.dev/v1alpha1/namespaces/team-a/apikeys/bot-0';
  const rounds = runs(10, 4);
  for (let round = 0; round < rounds; round++) {
    await mergePatch(plane.client, path, { spec: { disabled: true } });
    for (const gateway of gateways) await refused(gateway, importedKey('team-a', 'bot-0'));
    await mergePatch(plane.client, path, { spec: { disabled: false } });
    await awaitCondition('apikey/bot-0', 'Ready', 'team-a');
  }
  const flushedMs = said().slice(before);
  console.log(`seen by the operator to the pointer written: ${describeMs(flushedMs)}`);
  expect(flushedMs).toHaveLength(rounds);
  expect(quantile(flushedMs, 0.5)).toBeLessThan(1_000);
}, 60_000);

test('kubectl delete --all takes effect at once, though it is every key of a namespace', async () => {
  const { apply, gateways, plane } = installation();
  const names = Array.from({ length: manyCount }, (_, index) => `bot-${index}`);
  await apply(...names.map((name) => importedApiKey('team-b', name)));
  await plane.mustKubectl([
    'wait',
    'apikey',
    '--all',
    '-n',
    'team-b',
    '--for=condition=Programmed',
    '--timeout=30s',
  ]);
  const all = names.map((name) => importedKey('team-b', name));
  for (const gateway of gateways) expect(await statusesOf(gateway, all)).toEqual([200]);
  const startedMs = performance.now();
  await plane.mustKubectl(['delete', 'apikeys', '--all', '-n', 'team-b', '--wait=false']);
  const deletedMs = performance.now();
  for (const gateway of gateways) {
    for (const key of all) await refused(gateway, key);
  }
  const [inAll, after] = [performance.now() - startedMs, performance.now() - deletedMs].map(Math.round);
  console.log(
    `${names.length} keys deleted: 401 everywhere ${inAll} ms after kubectl began, ${after} ms after it ended`,
  );
}, 60_000);

test('an expiring key stops on the second at every gateway, whichever operator leads, and its status says so', async () => {
  const { apply, awaitCondition, gateways, plane } = installation();
  const inSeconds = (seconds: number) =>
    new Date(Math.ceil(Date.now() / 1_000 + seconds) * 1_000).toISOString().replace('.000', '');
  const expiresAt = inSeconds(4);
  await apply(importedApiKey('team-a', 'guest', { expiresAt }));
  await awaitCondition('apikey/guest', 'Programmed', 'team-a');
  const key = importedKey('team-a', 'guest');
  const lateMs: number[] = [];
  for (const gateway of gateways) {
    // Whichever side of the second an answer falls on, it must not be on the wrong one by more than the call takes.
    await until(async () => {
      const askedAt = Date.now();
      const status = await statusOf(gateway, key);
      if (status === 200) {
        expect(askedAt).toBeLessThan(Date.parse(expiresAt));
        return false;
      }
      expect(status).toBe(401);
      expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(expiresAt));
      lateMs.push(askedAt - Date.parse(expiresAt));
      return true;
    });
  }
  await awaitCondition('apikey/guest', 'Expired', 'team-a');
  const columns = await plane.mustKubectl(['get', 'apikey', 'guest', '-n', 'team-a', '-o', 'wide']);
  expect(columns).toContain('PastExpiry');
  expect(columns).toContain(expiresAt.replace('Z', ''));
  expect(lateMs).toHaveLength(gateways.length);
}, 60_000);

test('an empty list without deletion events removes nothing until confirmed', async () => {
  const { apply, gateways, plane, operators } = installation();
  const names = Array.from({ length: manyCount }, (_, index) => `bot-${index}`);
  await apply(...names.map((name) => importedApiKey('team-c', name)));
  await plane.mustKubectl([
    'wait',
    'apikey',
    '--all',
    '-n',
    'team-c',
    '--for=condition=Programmed',
    '--timeout=30s',
  ]);
  const all = names.map((name) => importedKey('team-c', name));
  for (const gateway of gateways) expect(await statusesOf(gateway, all)).toEqual([200]);

  // As when etcd was put back to an older backup: the objects are gone, and no watch was reported.
  await plane.kill();
  await forgetInEtcd(installation(), 'apikeys/team-c');
  await plane.restart();
  const held = /objects disappeared without a deletion event/;
  await Promise.any(operators.map(({ process }) => process.line(held)));
  expect(await plane.mustKubectl(['get', 'apikeys', '-n', 'team-c', '-o', 'name'])).toBe('');
  for (const gateway of gateways) expect(await statusesOf(gateway, all)).toEqual([200]);
  const metrics = await Promise.all(
    operators.map(async ({ metricsUrl }) => (await fetch(`${metricsUrl}/metrics`)).text()),
  );
  expect(metrics.join('')).toContain(`penstock_operator_held_absences{kind="ApiKey"} ${manyCount}\n`);

  const atPointer = { kind: 'Secret', namespace: 'penstock-tables', name: 'penstock-current' };
  const reported = await eventsOf(plane, atPointer, 'AbsenceHeld');
  expect(reported.find(({ reason }) => reason === 'AbsenceHeld')).toMatchObject({
    type: 'Warning',
    note: expect.stringMatching(
      new RegExp(`^${manyCount} ApiKeys are missing .*penstock\\.dev/accept-absence=true$`),
    ),
  });

  // What else is changed moves on at the same time.
  await apply(importedApiKey('team-c', 'new'));
  await plane.mustKubectl([
    'wait',
    'apikey/new',
    '-n',
    'team-c',
    '--for=condition=Programmed',
    '--timeout=20s',
  ]);

  const pointer = ['secret', 'penstock-current', '-n', 'penstock-tables'];
  await plane.mustKubectl(['annotate', ...pointer, 'penstock.dev/accept-absence=true']);
  for (const gateway of gateways) {
    for (const key of all) await refused(gateway, key);
    expect(await statusOf(gateway, importedKey('team-c', 'new'))).toBe(200);
  }
  // It was meant for this absence alone.
  await plane
    .mustKubectl(['wait', ...pointer, '--for=jsonpath={.metadata.annotations}', '--timeout=1s'])
    .then(
      (said) => expect(said).not.toContain('accept-absence'),
      () => {
        // No annotation is left at all.
      },
    );
}, 120_000);

async function statusOf(gateway: Installation['gateways'][number], key: string): Promise<number> {
  return (await askGateway(gateway, key, 'penstock/shared')).status;
}

/** What an operator's log says of each table that took access away. */
function revocationsMs(log: string): number[] {
  return [...log.matchAll(/"revocationMs":(\d+)/g)].map(([, ms]) => Number(ms));
}

function refused(gateway: Installation['gateways'][number], key: string): Promise<void> {
  return askUntil(gateway, key, 'penstock/shared', ({ status }) => status === 401);
}

/** The statuses that occur. */
async function statusesOf(
  gateway: Installation['gateways'][number],
  keys: readonly string[],
): Promise<number[]> {
  const statuses = new Set<number>();
  for (const key of keys) statuses.add(await statusOf(gateway, key));
  return [...statuses];
}

/** Deletes all objects of ours below a path, in etcd itself; the API server must be down. */
async function forgetInEtcd({ plane }: Installation, path: string): Promise<void> {
  const prefix = `${plane.etcdPrefix}/penstock.dev/${path}/`;
  const end = `${prefix.slice(0, -1)}0`;
  const answer = await fetch(`${plane.etcd?.url}/v3/kv/deleterange`, {
    method: 'POST',
    body: JSON.stringify({ key: btoa(prefix), range_end: btoa(end) }),
  });
  const { deleted } = (await answer.json()) as { deleted?: string };
  expect(Number(deleted)).toBeGreaterThan(0);
}
