// Does the process serve from Secrets, and from its copy where it starts while the API server hangs? What callers get while the API
// server is frozen, killed and started again: test/flow/cluster/outages.test.ts.

import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  EXCHANGE_PATH,
  exchangeResponseSchema,
  JOURNAL_CURSOR_HEADER,
  JOURNAL_PATH,
} from '../../../core/contract/exchange.ts';
import { READER_FORMAT } from '../../../core/contract/routing-table.ts';
import { useControlPlane } from '../../cluster/control-plane.ts';
import { rawCall } from '../../support/raw-client.ts';
import { until } from '../../support/until.ts';
import { startWall, type Wall } from '../../support/wall.ts';
import { keyEntry, tableOf, testKey } from '../rig.ts';
import { exchangeToken, publish } from '../table/published.ts';
import { makeTableNamespace, type TableNamespace } from '../table/table-namespace.ts';
import { type Folder, type ListeningProcess, launchListening, makeFolder } from './gateway-process.ts';

const plane = useControlPlane({ hasControllers: false });
let folder: Folder;
let wall: Wall;
let place: TableNamespace;
const gateways: ListeningProcess[] = [];

beforeEach(async () => {
  folder = await makeFolder();
  wall = await startWall();
  place = await makeTableNamespace(plane().client);
  // As the kubelet puts it into every pod.
  await mkdir(join(folder.path, 'account'));
  await writeFile(join(folder.path, 'account', 'token'), plane().adminToken);
  await writeFile(join(folder.path, 'account', 'ca.crt'), await readFile(plane().caFile));
});

afterEach(async () => {
  for (const { process } of gateways.splice(0)) await process.stop();
  await wall.close();
  await folder.remove();
});

async function launch(env: Readonly<Record<string, string>> = {}): Promise<ListeningProcess> {
  const { hostname, port } = new URL(plane().url);
  const gateway = await launchListening(folder, {
    PENSTOCK_TABLE_FILE: undefined,
    PENSTOCK_TABLE_SECRET: `${place.pointer.namespace}/${place.pointer.name}`,
    PENSTOCK_TABLE_COPY_DIR: join(folder.path, 'copy'),
    PENSTOCK_SERVICE_ACCOUNT_DIR: join(folder.path, 'account'),
    PENSTOCK_INTERNAL_PORT: '0',
    KUBERNETES_SERVICE_HOST: hostname,
    KUBERNETES_SERVICE_PORT: port,
    ...env,
  });
  gateways.push(gateway);
  return gateway;
}

const readJournal = (gateway: ListeningProcess, query: string) =>
  rawCall(
    { port: Number(new URL(gateway.internalUrl ?? '').port) },
    { path: `${JOURNAL_PATH}?${query}`, headers: { authorization: `Bearer ${exchangeToken}` } },
  );

const publishNumber = (generation: number, keys = [testKey]) =>
  publish(
    {
      ...tableOf([{ baseUrl: wall.baseUrl, keys: { main: 'sk-upstream' } }]),
      keys: keys.map((key, index) => keyEntry(key, `team/key-${index}`)),
    },
    { generation },
  );

async function ask({ url }: ListeningProcess, key = testKey): Promise<number> {
  const { status } = await rawCall(
    { port: Number(new URL(url).port) },
    {
      path: '/v1/chat/completions',
      headers: { authorization: `Bearer ${key}` },
      body: { model: 'm', messages: [{ role: 'user', content: 'three plain words' }] },
    },
  );
  return status;
}

const exchange = async ({ internalUrl }: ListeningProcess, token = exchangeToken) =>
  rawCall(
    { port: Number(new URL(internalUrl ?? '').port) },
    {
      path: EXCHANGE_PATH,
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
      body: { waitMs: 0, readyPods: 3 },
    },
  );

async function metric({ metricsUrl }: ListeningProcess, name: string): Promise<number> {
  const { text } = await rawCall({ port: Number(new URL(metricsUrl).port) }, { path: '/metrics' });
  return Number(
    text
      .split('\n')
      .find((line) => line.startsWith(`${name} `))
      ?.split(' ')[1],
  );
}

test('a table in Secrets is served; the exchange reports the table and the journal of served requests', async () => {
  await place.put(publishNumber(7));
  const gateway = await launch();
  await gateway.process.line(/"routing table in use","generation":7,"source":"api"/);
  await gateway.process.answering(`${gateway.metricsUrl}/readyz`);
  expect(await ask(gateway)).toBe(200);

  const { status, json } = await exchange(gateway);
  expect(status).toBe(200);
  expect(exchangeResponseSchema.parse(json)).toMatchObject({
    table: { epoch: 1, generation: 7, source: 'api' },
    formats: { min: 1, max: READER_FORMAT },
    health: [{ provider: 'platform/p0', key: 'main', state: 'working' }],
  });
  expect((await exchange(gateway, 'x'.repeat(43))).status).toBe(401);
  expect(await metric(gateway, 'penstock_ready_gateways')).toBe(3);
  expect(await metric(gateway, 'penstock_table_source{source="api"}')).toBe(1);
  expect(await metric(gateway, 'penstock_config_age_seconds')).toBeGreaterThan(0);

  const journal = await readJournal(gateway, 'waitMs=1000');
  expect(journal.text).toContain('"tableGeneration":7');
  // All is taken over, and so the log has none of it.
  expect((await readJournal(gateway, `after=${journal.headers[JOURNAL_CURSOR_HEADER]}`)).text).toBe('');
  expect(await gateway.process.stop()).toEqual({ code: 0, signal: null });
  expect(gateway.process.stdout()).not.toContain('was not taken over');
  expect(gateway.process.stdout()).not.toMatch(/sk-upstream|eeeeeeee/);
});

test('unacknowledged records are in the log after the end of the gateway', async () => {
  await place.put(publishNumber(8));
  const gateway = await launch();
  await gateway.process.line(/"routing table in use","generation":8/);
  expect(await ask(gateway)).toBe(200);
  expect(await gateway.process.stop()).toEqual({ code: 0, signal: null });
  expect(gateway.process.stdout()).toMatch(/"a ledger record was not acknowledged","record":\{"id":"req_/);
});

test('the drain waits for a ledger that has not asked yet, so that records are acknowledged instead of logged', async () => {
  await place.put(publishNumber(9));
  const gateway = await launch({ PENSTOCK_LEDGER_ADDRESS: 'http://127.0.0.1:1' });
  await gateway.process.line(/"routing table in use","generation":9/);
  expect(await ask(gateway)).toBe(200);
  const ended = gateway.process.stop(60_000);
  // By then all else is done.
  await until(async () => (await ask(gateway).catch(() => 0)) === 0);
  const journal = await readJournal(gateway, 'waitMs=1000');
  expect(journal.text).toContain('"tableGeneration":9');
  await readJournal(gateway, `after=${journal.headers[JOURNAL_CURSOR_HEADER]}`).catch(() => {});
  expect(await ended).toEqual({ code: 0, signal: null });
  expect(gateway.process.stdout()).not.toContain('was not taken over');
});

test('a gateway that starts while the API server is frozen serves from its copy within 3 s, and goes on from there', async () => {
  await place.put(publishNumber(1));
  const first = await launch();
  await first.process.line(/"routing table in use"/);
  expect(await first.process.stop()).toEqual({ code: 0, signal: null });
  plane().freeze();
  const from = performance.now();
  const second = await launch();
  try {
    await second.process.line(/"routing table in use","generation":1,"source":"copy"/);
    expect(await ask(second)).toBe(200);
    expect(performance.now() - from).toBeLessThan(3_000);
    // The copy holds no token: the answer is that the token is unknown, not that it is wrong.
    expect((await exchange(second)).status).toBe(503);
    expect(await metric(second, 'penstock_table_source{source="copy"}')).toBe(1);
  } finally {
    plane().thaw();
  }
  await place.put(publishNumber(2));
  await second.process.line(/"routing table in use","generation":2,"source":"api"/);
  expect((await exchange(second)).status).toBe(200);
});
