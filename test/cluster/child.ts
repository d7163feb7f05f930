// How does a server program of the test cluster start, and how is it made sure that it ends? Its process id is its own,
// its output goes to a file, and it cannot outlive the process that started it.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { bareEnvironment } from '../support/bare-environment.ts';
import { until } from '../support/until.ts';
import { leashed, unleash } from './leash.ts';

export interface Child {
  readonly pid: number;
  readonly exit: Promise<void>;
  isRunning(): boolean;
  signal(name: NodeJS.Signals): void;
  /** SIGKILL; settled when it has ended. Does nothing to one that has. */
  kill(): Promise<void>;
  /** As Node has it: this process ends without waiting for one that is unreferenced, which then ends too. */
  ref(): void;
  unref(): void;
}

/**
 * @param memoryGib What a program in Go may take before it collects garbage. What it holds must be well below: near it, it does nothing else.
 * @throws where the program cannot be started.
 */
export async function startChild(
  command: string,
  args: readonly string[],
  logFile: string,
  memoryGib = 1,
): Promise<Child> {
  const log = openSync(logFile, 'a');
  const child = spawn('sh', leashed(command, args, '$$'), {
    // Memory is there for it, and the cores have others to serve: a server that collects near its limit alone, and looks for work on one
    // thread at a time, takes up to a tenth less of them.
    env: { ...bareEnvironment(), GOGC: 'off', GOMEMLIMIT: `${memoryGib}GiB`, GOMAXPROCS: '1' },
    stdio: ['ignore', log, log, 'pipe'],
  });
  closeSync(log);
  let isRunning = true;
  const exit = once(child, 'exit').then(() => {
    isRunning = false;
  });
  unleash(child);
  await once(child, 'spawn');
  const { pid } = child;
  if (pid === undefined) throw new Error(`${command} was started without a process id`);
  return {
    pid,
    exit,
    isRunning: () => isRunning,
    signal: (name) => void child.kill(name),
    ref: () => child.ref(),
    unref: () => child.unref(),
    async kill() {
      child.kill('SIGKILL');
      await exit;
    },
  };
}

/**
 * Settled when `isReady` says so. A program gives no event when it begins to serve; asking again is the only way.
 *
 * @throws with the tail of its log where it ends before, or has not been ready in time.
 */
export async function untilReady(
  name: string,
  child: Child,
  logFile: string,
  isReady: () => Promise<boolean>,
  waitMs = 120_000,
): Promise<void> {
  const deadline = performance.now() + waitMs;
  await until(async () => {
    if (!child.isRunning())
      throw new Error(`${name} ended before it was ready. Its last words:\n${await tailOf(logFile)}`);
    if (await isReady()) return true;
    if (performance.now() > deadline)
      throw new Error(
        `${name} was not ready in ${waitMs / 1_000} s. Its last words:\n${await tailOf(logFile)}`,
      );
    return false;
  });
}

export async function tailOf(logFile: string, lineCount = 25): Promise<string> {
  const text = await readFile(logFile, 'utf8').catch(() => `(no ${basename(logFile)})`);
  return text.trimEnd().split('\n').slice(-lineCount).join('\n');
}
