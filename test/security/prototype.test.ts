// A body, a table or a snapshot with the names that lead to the prototype of all objects changes nothing there (T14). In all test files
// that prototype is sealed (test/setup.ts), and in what runs as a process __proto__ leads nowhere (tools/pack/contents.ts).

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { bearer } from '../gateway/endpoints/ask.ts';
import { type Folder, launchListening, makeFolder } from '../gateway/process/gateway-process.ts';
import { tableOf } from '../gateway/rig.ts';
import { type RunningProcess, startProcess } from '../support/process.ts';
import { openRaw } from '../support/raw-client.ts';
import { startWall, type Wall } from '../support/wall.ts';

test('in every test the prototype of all objects is sealed: a write throws', () => {
  expect(() => Object.assign(Object.prototype, { polluted: true })).toThrow(TypeError);
  expect(Reflect.get({}, 'polluted')).toBeUndefined();
});

test('in a process of ours __proto__ leads to no prototype, and no signal opens a debugger', async () => {
  const script = [
    'const written = {};',
    'written.__proto__ = { polluted: true };',
    'process.stdout.write(({}).__proto__ + " " + written.polluted + "\\n");',
    'setInterval(() => process.stdout.write("alive\\n"), 20);',
  ];
  const child = await startProcess('--input-type=module', { args: ['--eval', script.join('\n')] });
  try {
    await child.line(/^undefined undefined$/);
    child.signal('SIGUSR1');
    for (let count = 0; count < 3; count++) await child.nextLine(/alive/);
    expect(child.stderr()).not.toMatch(/debugger/i);
  } finally {
    await child.stop();
  }
});

describe('in the processes as the image starts them', () => {
  /** Head, query, body and trailer of one request. */
  const request = [
    'POST /v1/chat/completions?__proto__=x&__proto__[x]=y HTTP/1.1\r\nhost: a\r\n__proto__: x\r\n__proto__: y\r\n',
    `authorization: ${bearer.authorization}\r\ncontent-type: application/json\r\n`,
    'transfer-encoding: chunked\r\ntrailer: __proto__\r\n\r\n',
    'b\r\n{"model":"m\r\n47\r\n","__proto__":{"x":1},"messages":[{"__proto__":{},"role":"user","conten\r\n',
    '9\r\nt":"x"}]}\r\n0\r\n__proto__: z\r\n\r\n',
  ].join('');

  let folder: Folder;
  let wall: Wall;
  const running: RunningProcess[] = [];

  beforeEach(async () => {
    folder = await makeFolder();
    wall = await startWall();
  });

  afterEach(async () => {
    for (const process of running.splice(0)) await process.stop();
    await wall.close();
    await folder.remove();
  });

  async function startGateway(): Promise<readonly string[]> {
    await folder.putTable(tableOf([{ baseUrl: wall.baseUrl }]));
    const { process, url, metricsUrl } = await launchListening(folder);
    running.push(process);
    await process.line(/routing table in use/);
    return [url, metricsUrl];
  }

  /** The servers that need a cluster to be started with all else. */
  async function startAlone(): Promise<readonly string[]> {
    const script = `
      import { buildExchangeServer } from ${JSON.stringify(new URL('../../gateway/exchange/server.ts', import.meta.url))};
      import { buildHealthServer } from ${JSON.stringify(new URL('../../operator/health.ts', import.meta.url))};
      const servers = [buildExchangeServer({ token: () => 'token' }).server, buildHealthServer({ isSynced: () => true })];
      for (const server of servers) await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
      console.log(servers.map((server) => 'http://127.0.0.1:' + server.address().port).join(' '));`;
    const process = await startProcess('--input-type=module', { args: ['--eval', script] });
    running.push(process);
    return (await process.line(/^http/)).split(' ');
  }

  test.each([
    ['gateway and its metrics', startGateway, [200, 404]],
    ['exchange and health of the operator', startAlone, [404, 404]],
  ])(
    'a request that names __proto__ wherever it can is answered, and the process serves on: %s',
    async (_, start, statuses) => {
      const ports = (await start()).map((url) => Number(new URL(url).port));
      for (let round = 0; round < 2; round++) {
        const answers = await Promise.all(
          ports.map(async (port) => {
            const connection = await openRaw({ port });
            await connection.send(request);
            const { status } = await connection.answer();
            connection.close();
            return status;
          }),
        );
        expect(answers).toEqual(statuses);
      }
      expect(running[0]?.stdout()).not.toContain('the process failed');
    },
  );
});
