// A child process can be started, waited for and ended, and a failure tells all it said.

import { once } from 'node:events';
import { connect } from 'node:net';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, test } from 'vitest';
import { type RunningProcess, startProcess } from '../support/process.ts';

const script = fileURLToPath(new URL('scripts/child.ts', import.meta.url));
let child: RunningProcess | undefined;

afterEach(async () => {
  await child?.stop(0);
  child = undefined;
});

test('a line, then a URL, then SIGTERM', async () => {
  child = await startProcess(script, { args: ['serve'], env: { EXTRA: 'yes' } });
  const line = await child.line(/^listening on \d+$/);
  await child.answering(`http://127.0.0.1:${line.split(' ').at(-1)}/`, 204);
  expect(await child.line(/^listening/)).toBe(line);
  expect(await child.line(/^environment .*\bEXTRA\b/)).not.toMatch(/VITEST|OPENAI/);
  expect(await child.stop()).toEqual({ code: null, signal: 'SIGTERM' });
  expect(await child.stop()).toEqual({ code: null, signal: 'SIGTERM' });
});

test('a process that ignores SIGTERM is killed after its grace', async () => {
  child = await startProcess(script, { args: ['stubborn'] });
  await child.line(/^listening/);
  child.signal('SIGTERM');
  await child.line(/^not yet/);
  expect(await child.stop(1)).toEqual({ code: null, signal: 'SIGKILL' });
});

test('the next line arrives after the question, in time, before the end', async () => {
  child = await startProcess(script, { args: ['stubborn'] });
  await child.line(/^listening/);
  child.signal('SIGTERM');
  expect(await child.line(/^not yet/)).toMatch(/asked 1 times/);
  const next = child.nextLine(/^not yet/);
  child.signal('SIGTERM');
  expect(await next).toMatch(/asked 2 times/);
  await expect(child.nextLine(/^not yet/, 1)).rejects.toThrow(
    /did not say .* within 1 ms[\s\S]*asked 2 times/,
  );
  const never = child.nextLine(/^listening/);
  child.signal('SIGKILL');
  await expect(never).rejects.toThrow(/ended \(SIGKILL\) before it said/);
  await expect(child.nextLine(/^listening/)).rejects.toThrow(/ended \(SIGKILL\)/);
});

test('waiting for a process that fails rejects with its exit code and its output', async () => {
  child = await startProcess(script, { args: ['fail'] });
  await expect(child.line(/^listening/)).rejects.toThrow(/code 3[\s\S]*cannot go on/);
  await expect(child.answering('http://127.0.0.1:1/')).rejects.toThrow('cannot go on');
  expect(await child.exit).toEqual({ code: 3, signal: null });
});

test('a command that does not exist is refused', async () => {
  await expect(startProcess('x', { command: '/no/such/command' })).rejects.toMatchObject({ code: 'ENOENT' });
});

test('a process ends when its starter is killed', async () => {
  const module = new URL('../support/process.ts', import.meta.url).href;
  const starting = `
    const { startProcess } = await import(${JSON.stringify(module)});
    const server = await startProcess(${JSON.stringify(script)}, { args: ['serve'] });
    console.log(await server.line(/^listening/));`;
  child = await startProcess('--input-type=module', { args: ['--eval', starting] });
  const port = (await child.line(/^listening/)).split(' ').at(-1);
  const connection = connect(Number(port), '127.0.0.1');
  await once(connection, 'connect');
  connection.on('error', () => {}).resume();
  const gone = once(connection, 'close');
  child.signal('SIGKILL');
  await gone;
});
