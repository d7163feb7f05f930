// Does a program of the test cluster end, whatever happens to the process that started it?

import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { startProcess } from '../support/process.ts';
import { startChild, untilReady } from './child.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'penstock-child-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

// It holds a connection, whose end tells that it is gone, and otherwise never ends.
const program = (socket: string) => `require('node:net').connect(${JSON.stringify(socket)})`;

test.each([
  [
    'startChild',
    (socket: string) =>
      `startChild(process.execPath, ['-e', ${JSON.stringify(program(socket))}], '/dev/null')`,
  ],
  [
    'run',
    (socket: string) =>
      `run('sh', ['-c', 'exec "$0" -e "$1"', process.execPath, ${JSON.stringify(program(socket))}])`,
  ],
])('a process that %s has started ends when its starter is killed', async (_name, start) => {
  const socket = join(folder, 'socket');
  const server = createServer();
  server.listen(socket);
  const arrival = once(server, 'connection');
  const modules = ['child', 'run'].map((name) => new URL(`${name}.ts`, import.meta.url).href);
  const script = `
    const [{ startChild }, { run }] = await Promise.all(${JSON.stringify(modules)}.map((url) => import(url)));
    await ${start(socket)};
    setInterval(() => {}, 60_000);`;
  const starter = await startProcess('--input-type=module', { args: ['--eval', script] });
  const [connection] = await arrival;
  connection.resume();
  const gone = once(connection, 'close');
  starter.signal('SIGKILL');
  await gone;
  await starter.exit;
  server.close();
  await expect(once(connect(socket), 'connect')).rejects.toThrow();
});

test('it ends with its starter, even if a signal to the whole group came before', async () => {
  const socket = join(folder, 'socket');
  const server = createServer();
  server.listen(socket);
  const arrival = once(server, 'connection');
  const stubborn = `process.on('SIGTERM', () => {}); ${program(socket)}.write(String(process.pid))`;
  const script = `
    const { startChild } = await import(${JSON.stringify(new URL('child.ts', import.meta.url).href)});
    await startChild(process.execPath, ['-e', ${JSON.stringify(stubborn)}], '/dev/null');
    setInterval(() => {}, 60_000);`;
  const starter = await startProcess('--input-type=module', { args: ['--eval', script] });
  const [connection] = await arrival;
  const [said] = await once(connection, 'data');
  const gone = once(connection, 'close');
  for (const pid of await familyOf(Number(said))) process.kill(pid, 'SIGTERM');
  starter.signal('SIGKILL');
  await gone;
  await starter.exit;
  server.close();
});

/** A process and its children. */
async function familyOf(pid: number): Promise<number[]> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8');
  return [pid, ...children.split(' ').filter(Boolean).map(Number)];
}

test("its process id is the program's own, and it can be killed", async () => {
  const child = await startChild('sleep', ['600'], join(folder, 'log'));
  expect(child.isRunning()).toBe(true);
  await child.kill();
  expect(child.isRunning()).toBe(false);
  expect(() => process.kill(child.pid, 0)).toThrow(/ESRCH/);
  await child.kill();
});

test('a program that ends too early is reported with its last words', async () => {
  const logFile = join(folder, 'log');
  const child = await startChild('sh', ['-c', 'echo it hurts >&2'], logFile);
  await expect(untilReady('sh', child, logFile, async () => false)).rejects.toThrow(
    /^sh ended before it was ready\. Its last words:\nit hurts$/,
  );
});

test('one that cannot be started, too', async () => {
  const logFile = join(folder, 'log');
  const child = await startChild(join(folder, 'nothing'), [], logFile);
  await expect(untilReady('nothing', child, logFile, async () => false)).rejects.toThrow(
    /not found|No such file/i,
  );
});
