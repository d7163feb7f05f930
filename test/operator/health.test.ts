// Is the operator alive, and has it read the cluster?

import { once } from 'node:events';
import type { Server } from 'node:http';
import { Gauge, Registry } from 'prom-client';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { DebugTable } from '../../operator/debug-table.ts';
import { buildHealthServer } from '../../operator/health.ts';

const debugTable: DebugTable = { replica: 'operator-1', leader: 'operator-0', isLeader: false };
const state = { isSynced: false, longestRunMs: 0, debugTable };
let server: Server;
let url: string;

beforeEach(async () => {
  Object.assign(state, { isSynced: false, longestRunMs: 0 });
  const registry = new Registry();
  new Gauge({ name: 'depth', help: 'Of the sea.', registers: [registry] }).set(7);
  server = buildHealthServer({
    registry,
    isSynced: () => state.isSynced,
    longestRunMs: () => state.longestRunMs,
    debugTable: () => state.debugTable,
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
});

afterEach(async () => {
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
});

async function get(path: string, accept = '*/*'): Promise<[number, string]> {
  const response = await fetch(`${url}${path}`, { headers: { accept } });
  return [response.status, await response.text()];
}

test('it is ready as soon as the cluster has been read', async () => {
  expect(await get('/readyz')).toEqual([503, 'the cluster has not been read yet\n']);
  state.isSynced = true;
  expect(await get('/readyz?verbose')).toEqual([200, 'ok\n']);
});

test('it is healthy before it is ready', async () => {
  expect(await get('/healthz')).toEqual([200, 'ok\n']);
});

test('a worker has five minutes; after that it counts as stuck', async () => {
  state.longestRunMs = 300_000;
  expect(await get('/healthz')).toEqual([200, 'ok\n']);
  state.longestRunMs = 301_000;
  expect(await get('/healthz')).toEqual([500, 'a worker has been stuck for 301 s\n']);
});

test('metrics are in the text format of Prometheus', async () => {
  expect(await get('/metrics')).toEqual([200, expect.stringContaining('\ndepth 7\n')]);
});

test('/debug/table reports what each gateway runs, as JSON or as text', async () => {
  const [status, body] = await get('/debug/table');
  expect([status, JSON.parse(body)]).toEqual([200, debugTable]);
  const text = 'operator-1 does not lead: operator-0 leads; ask that replica\n';
  expect(await get('/debug/table?format=text')).toEqual([200, text]);
  expect(await get('/debug/table', 'text/plain')).toEqual([200, text]);
  expect(await get('/debug/table?format=xml')).toEqual([400, 'format is json or text\n']);
});

test('an unknown path lists the known ones', async () => {
  expect(await get('/')).toEqual([404, expect.stringContaining('/healthz')]);
});
