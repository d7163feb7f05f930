// Which processes of a run are running? Every process is started here, and ended here by its process id.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough, type Readable, type Writable } from 'node:stream';
import { processTree } from './measure/process-tree.ts';

type LaunchOptions = {
  /** For messages and the log file. */
  name: string;
  command: string;
  args: readonly string[];
  /** Environment of the process, on top of the launcher's. */
  env?: Readonly<Record<string, string>>;
  /** Pins the process and all its threads to one core. */
  core?: number;
  cwd?: string;
  /** How long it may take to end after SIGTERM before it is killed. */
  graceMs?: number;
  /** `lines`: the caller reads standard output; else it goes to the log file, so that reading it costs no CPU here. */
  stdout?: 'lines' | 'log';
};

export type Launched = {
  name: string;
  pid: number;
  stdin: Writable;
  /** Lines of standard output; empty unless asked for. */
  lines: AsyncIterable<string>;
  /** The end of what it logged. */
  logTail(): string;
  hasExited(): boolean;
  /** Ends it and its descendants; resolves when it is gone. */
  stop(): Promise<void>;
};

/** The run was cancelled, and something was to be started after that. */
export class RunEndedError extends Error {
  override readonly name = 'RunEndedError';
}

export type Launcher = {
  /** @throws {RunEndedError} once it is closed, so that an interrupted run cannot leave anything behind. */
  start(options: LaunchOptions): Promise<Launched>;
  /** Ends all that still runs. */
  close(): Promise<void>;
};

const LOG_TAIL_CHARS = 3000;

/** Logs go to `workFolder`, one file per process. */
export function createLauncher(workFolder: string, environment: Readonly<Record<string, string>>): Launcher {
  const started: Launched[] = [];
  let isClosed = false;
  return {
    async start(options) {
      if (isClosed) throw new RunEndedError(`the run has ended; ${options.name} is not started`);
      const logFile = join(workFolder, `${options.name}-${started.length}.log`);
      const launched = await launch(options, logFile, environment);
      started.push(launched);
      if (isClosed) await launched.stop(); // closed while it was starting
      return launched;
    },
    async close() {
      isClosed = true;
      await Promise.all(started.map((launched) => launched.stop()));
    },
  };
}

async function launch(
  options: LaunchOptions,
  logFile: string,
  environment: Readonly<Record<string, string>>,
): Promise<Launched> {
  const { name, command, args, core } = options;
  const pinned = core === undefined ? [] : ['taskset', '-c', String(core)];
  const [file = command, ...rest] = [...pinned, command, ...args];
  const log = openSync(logFile, 'a');
  const child = spawn(file, rest, {
    cwd: options.cwd,
    env: { ...environment, ...options.env },
    stdio: ['pipe', options.stdout === 'lines' ? 'pipe' : log, log],
  });
  closeSync(log);
  // Writing to a process that has just ended is no fault of the run.
  child.stdin?.on('error', () => undefined);
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  try {
    await once(child, 'spawn');
  } catch (cause) {
    throw new Error(`cannot start ${name}: '${file}' is not there or may not be run`, { cause });
  }
  const { pid, stdin, stdout } = child;
  if (pid === undefined || !stdin) throw new Error(`cannot start ${name}: it has no process id`);
  return {
    name,
    pid,
    stdin,
    lines: readLines(keep(stdout)),
    logTail: () => readFileSync(logFile, 'utf8').slice(-LOG_TAIL_CHARS).trim(),
    hasExited: () => hasExited(child),
    stop: () => stop(child, pid, exited, options.graceMs ?? 3000),
  };
}

// Node discards unread output when a process ends; a stream of our own keeps it.
function keep(stdout: Readable | null): Readable | null {
  return stdout === null ? null : stdout.pipe(new PassThrough());
}

// Not node:readline: it drops what arrives between its creation and the first read.
async function* readLines(stdout: Readable | null): AsyncGenerator<string> {
  if (stdout === null) return;
  let rest = '';
  for await (const part of stdout.setEncoding('utf8')) {
    const lines = `${rest}${part}`.split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
  if (rest !== '') yield rest;
}

function hasExited(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

async function stop(child: ChildProcess, pid: number, exited: Promise<void>, graceMs: number): Promise<void> {
  if (hasExited(child)) return;
  // Taken before the signal: afterwards the children of a dead parent are no longer to be found.
  const tree = processTree(pid);
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), graceMs);
  await exited;
  clearTimeout(timer);
  for (const descendant of tree.slice(1)) kill(descendant);
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // Gone already, as it should be.
  }
}
