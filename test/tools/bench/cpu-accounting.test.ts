// CPU and processes: a target may be many processes of many threads, and all of them count.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createLauncher, type Launcher } from '../../../tools/bench/launcher.ts';
import { coreBusy, readCoreTicks } from '../../../tools/bench/measure/core-time.ts';
import { parseCoreList, pickCores } from '../../../tools/bench/measure/cores.ts';
import { cpuUsed, readCpu } from '../../../tools/bench/measure/cpu.ts';
import { readRssKib } from '../../../tools/bench/measure/memory.ts';
import { processTree } from '../../../tools/bench/measure/process-tree.ts';

// The child burns 100 ms of CPU when reported and answers how much it says it used; the parent only passes lines on.
const child = `
process.stdin.once('data', () => {
  const start = process.cpuUsage();
  const used = () => { const { user, system } = process.cpuUsage(start); return user + system; };
  while (used() < 100_000);
  console.log(used());
});
console.log('ready');
`;
const parent = `
const child = require('node:child_process').spawn(process.execPath, ['-e', ${JSON.stringify(child)}], { stdio: ['pipe', 'pipe', 'inherit'] });
process.stdin.pipe(child.stdin);
child.stdout.pipe(process.stdout);
`;

let folder: string;
let launcher: Launcher;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'penstock-bench-test-'));
  launcher = createLauncher(folder, {});
});
afterEach(async () => {
  await launcher.close();
  await rm(folder, { recursive: true, force: true });
});

async function startFamily() {
  const running = await launcher.start({
    name: 'family',
    command: process.execPath,
    args: ['-e', parent],
    stdout: 'lines',
  });
  const lines = running.lines[Symbol.asyncIterator]();
  const next = async () => String((await lines.next()).value);
  expect(await next()).toBe('ready');
  return { running, next };
}

describe('CPU accounting', () => {
  test('sums what all processes of a tree used', async () => {
    const { running, next } = await startFamily();
    const tree = processTree(running.pid);
    expect(tree).toHaveLength(2);
    expect(tree[0]).toBe(running.pid);
    const [before, beforeParent] = [readCpu(tree), readCpu([running.pid])];
    running.stdin.write('burn\n');
    const ownFigureNs = Number(await next()) * 1000;
    const whole = cpuUsed(before, readCpu(tree));
    const parentAlone = cpuUsed(beforeParent, readCpu([running.pid]));
    expect(ownFigureNs).toBeGreaterThanOrEqual(100_000_000);
    expect(whole.ns).toBeGreaterThan(ownFigureNs * 0.9);
    expect(whole.ns - parentAlone.ns).toBeGreaterThan(ownFigureNs * 0.9);
    expect(whole.threadsEnded).toBe(0);
  });

  test('counts a thread that began in between from zero, and says when one ended', () => {
    const before = new Map([
      ['1/1', 100],
      ['1/2', 50],
    ]);
    const after = new Map([
      ['1/1', 175],
      ['1/3', 5],
    ]);
    expect(cpuUsed(before, after)).toEqual({ ns: 80, threadsEnded: 1 });
  });

  test('a process that is gone has no tree, no CPU and no memory', async () => {
    const gone = spawn(process.execPath, ['-e', '']);
    const pid = gone.pid ?? 0;
    await once(gone, 'exit');
    expect(processTree(pid)).toEqual([]);
    expect(readCpu([pid]).size).toBe(0);
    expect(readRssKib([pid])).toBe(0);
  });

  test('memory of a tree is that of all its processes', async () => {
    const { running } = await startFamily();
    const [own = 0, other = 0] = processTree(running.pid);
    // A Node process holds tens of MiB; a wrong unit or field would be far off.
    expect(readRssKib([own])).toBeGreaterThan(10_000);
    expect(readRssKib([own, other])).toBeGreaterThan(readRssKib([own]) + 10_000);
  });
});

describe('the launcher', () => {
  test('ends a process and what it started', async () => {
    const { running } = await startFamily();
    const tree = processTree(running.pid);
    await running.stop();
    await expect.poll(() => tree.filter((pid) => readCpu([pid]).size > 0 && isRunning(pid))).toEqual([]);
  });

  test('close ends all, also a process that ignores SIGTERM', async () => {
    const stubborn = await launcher.start({
      name: 'stubborn',
      command: process.execPath,
      args: ['-e', `process.on('SIGTERM', () => {}); setInterval(() => {}, 1000); console.log('up')`],
      stdout: 'lines',
      graceMs: 50,
    });
    await stubborn.lines[Symbol.asyncIterator]().next();
    await launcher.close();
    expect(stubborn.hasExited()).toBe(true);
  });

  test('starts nothing once it is closed', async () => {
    await launcher.close();
    const late = { name: 'the late one', command: process.execPath, args: [] };
    await expect(launcher.start(late)).rejects.toThrow('the run has ended; the late one is not started');
  });

  test('names what it could not start', async () => {
    const options = { name: 'the missing one', command: '/nowhere/at-all', args: [] };
    await expect(launcher.start(options)).rejects.toThrow("cannot start the missing one: '/nowhere/at-all'");
  });

  test('gives every line, also those written before anybody reads', async () => {
    const early = await launcher.start({
      name: 'early',
      command: process.execPath,
      args: [
        '-e',
        `process.stdout.write('first\\nsec'); setTimeout(() => process.stdout.write('ond\\nthird'), 10)`,
      ],
      stdout: 'lines',
    });
    await expect.poll(() => early.hasExited()).toBe(true);
    expect(await Array.fromAsync(early.lines)).toEqual(['first', 'second', 'third']);
  });

  test('keeps the log of a process that failed', async () => {
    const failing = await launcher.start({
      name: 'failing',
      command: process.execPath,
      args: ['-e', `console.error('no table'); process.exitCode = 3`],
      stdout: 'lines',
    });
    for await (const line of failing.lines) expect(line).toBe('');
    await expect.poll(() => failing.hasExited()).toBe(true);
    expect(failing.logTail()).toBe('no table');
  });
});

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    // A zombie still answers; it has no memory any more.
    return readRssKib([pid]) > 0;
  } catch {
    return false;
  }
}

describe('cores', () => {
  test.each([
    ['0-1', [0, 1]],
    ['0', [0]],
    ['2-4,7\n', [2, 3, 4, 7]],
    ['', []],
  ])('reads the list %j', (list, cores) => {
    expect(parseCoreList(list)).toEqual(cores);
  });

  test('takes the first core for load and the second for the proxy', () => {
    expect(pickCores('4-7')).toEqual({ load: 4, proxy: 5 });
  });

  test('refuses a machine with one core, with a sentence', () => {
    expect(() => pickCores('0')).toThrow('the benchmark needs two cores');
  });

  test('busy time is all but idle and waiting', () => {
    const before = readCoreTicks(
      'cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 10 0 10 80 0 0 0 0 0 0\ncpu1 0 0 0 100 0 0 0 0 0 0\n',
    );
    const after = readCoreTicks(
      'cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 40 0 30 110 10 5 5 0 7 0\ncpu1 0 0 0 200 0 0 0 0 0 0\n',
    );
    expect(coreBusy(before, after, 0)).toBe(0.6);
    expect(coreBusy(before, after, 1)).toBe(0);
    expect(coreBusy(before, after, 9)).toBe(0);
  });
});
