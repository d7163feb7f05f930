// Does the process serve from its table file: when it is there, when it comes late, when it changes, when it is bad?

import { afterEach, beforeEach, expect, test } from 'vitest';
import { rawCall } from '../../support/raw-client.ts';
import { startWall, type Wall } from '../../support/wall.ts';
import { tableOf, testKey } from '../rig.ts';
import { type Folder, type ListeningProcess, launchListening, makeFolder } from './gateway-process.ts';

let folder: Folder;
let wall: Wall;
let gateway: ListeningProcess;

beforeEach(async () => {
  folder = await makeFolder();
  wall = await startWall();
});

afterEach(async () => {
  await gateway.process.stop();
  await wall.close();
  await folder.remove();
});

const tableFor = (generation: number) => ({ ...tableOf([{ baseUrl: wall.baseUrl }]), generation });

function ask(path = '/v1/chat/completions') {
  return rawCall(
    { port: Number(new URL(gateway.url).port) },
    {
      path,
      headers: { authorization: `Bearer ${testKey}` },
      ...(path === '/v1/models'
        ? {}
        : { body: { model: 'm', messages: [{ role: 'user', content: 'three plain words' }] } }),
    },
  );
}

async function generation(): Promise<string | undefined> {
  const { headers } = await ask('/v1/models');
  return headers['x-penstock-generation'];
}

test('a table that exists is served, and the answer is recorded', async () => {
  await folder.putTable(tableFor(7));
  gateway = await launchListening(folder);
  await gateway.process.line(/"routing table in use","generation":7/);
  const answer = await ask();
  expect([answer.status, answer.headers['x-penstock-generation']]).toEqual([200, '7']);
  expect(await gateway.process.stop()).toEqual({ code: 0, signal: null });
  const records = await folder.records();
  expect(records.map(({ outcome, tableGeneration }) => [outcome, tableGeneration])).toEqual([
    ['answered', 7],
  ]);
});

test('before there is a table every request is 503, never 401, and is served from its arrival on', async () => {
  gateway = await launchListening(folder);
  await gateway.process.line(/routing table refused.*ENOENT/);
  await gateway.process.answering(`${gateway.metricsUrl}/readyz`, 503);
  await gateway.process.answering(`${gateway.metricsUrl}/healthz`, 200);
  for (const path of ['/v1/chat/completions', '/v1/models']) {
    const early = await ask(path);
    expect([path, early.status, early.headers['retry-after'], early.json]).toEqual([
      path,
      503,
      '1',
      { error: expect.objectContaining({ code: 'not_ready' }) },
    ]);
  }
  await folder.putTable(tableFor(1));
  await gateway.process.answering(`${gateway.metricsUrl}/readyz`, 200);
  expect((await ask()).status).toBe(200);
  expect(wall.calls).toHaveLength(1);
});

test('a table that replaces the file is used, and a bad one is logged and changes nothing', async () => {
  await folder.putTable(tableFor(1));
  gateway = await launchListening(folder);
  await gateway.process.line(/in use","generation":1/);
  await folder.putTable(tableFor(2));
  await gateway.process.line(/in use","generation":2/);
  expect(await generation()).toBe('2');

  const bad: [string | ReturnType<typeof tableFor>, RegExp][] = [
    ['{"format":1,', /refused.*not valid JSON/],
    [{ ...tableFor(3), providers: [] }, /refused.*platform\/p0, which is not in the table/],
    [{ ...tableFor(3), minReader: 99 }, /refused.*needs a reader of format 99.*upgrade the gateway/],
    [tableFor(1), /refused.*generation 1 is older than .*generation 2, which is in use/],
  ];
  for (const [content, reported] of bad) {
    await folder.putTable(content);
    await gateway.process.line(reported);
    expect(await generation()).toBe('2');
    expect((await ask()).status).toBe(200);
  }
  await gateway.process.answering(`${gateway.metricsUrl}/readyz`, 200);
  const metrics = await rawCall({ port: Number(new URL(gateway.metricsUrl).port) }, { path: '/metrics' });
  const refused = [...metrics.text.matchAll(/^penstock_tables_refused_total\{reason="(.+)"\} ([1-9])$/gm)];
  expect(refused.map(([, reason, count]) => [reason, count])).toEqual([
    ['too-new', '1'],
    ['invalid', '2'],
    ['older', '1'],
  ]);

  await folder.putTable(tableFor(4));
  await gateway.process.line(/in use","generation":4/);
  expect(await generation()).toBe('4');
});
