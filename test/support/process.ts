// Does a process of ours start, say what it should, and end when reported? Child processes for tests, ended by their own id.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, constants } from 'node:fs/promises';
import { get } from 'node:http';
import { dirname, join } from 'node:path';
import { image } from '../../tools/pack/contents.ts';
import { leashed, unleash } from '../cluster/leash.ts';
import { bareEnvironment } from './bare-environment.ts';
import { builtFolder } from './cache-folder.ts';
import { searchOutput } from './reported-secrets.ts';

export interface ProcessOptions {
  args?: readonly string[];
  /** On top of a bare environment: what a test needs is said by the test. `NODE_OPTIONS` come behind those of the image. */
  env?: Readonly<Record<string, string>>;
  cwd?: string;
  /** Flags for Node, for those that `NODE_OPTIONS` cannot say. */
  nodeArgs?: readonly string[];
  /** Default: the Node that runs the test. */
  command?: string;
  /** Local mode shows the key that it made. */
  showsKey?: boolean;
}

export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

export interface RunningProcess {
  pid: number;
  stdout(): string;
  stderr(): string;
  /** The first line of either output that matches, also one that has come before. Rejects with all output when the process ends without it. */
  line(pattern: RegExp): Promise<string>;
  /**
   * The first line of either output that matches and comes after this call. Rejects with all output when the process ends
   * without it, or has not said it after `boundMs` (default 60,000).
   */
  nextLine(pattern: RegExp, boundMs?: number): Promise<string>;
  /** Settled when an HTTP GET is answered with this status (default 200). Rejects when the process ends before. */
  answering(url: string, status?: number): Promise<void>;
  /** Sends a signal and does not wait. */
  signal(name: NodeJS.Signals): void;
  exit: Promise<Exit>;
  /** SIGTERM, after `graceMs` (default 5,000) SIGKILL; settled when it has ended. Does nothing to one that has. */
  stop(graceMs?: number): Promise<Exit>;
}

/**
 * Starts a script with Node, or another command with `args` alone, which ends when this process does, however it does.
 * Rejects when there is no program at the path of the command; a name that is not found on PATH ends with code 127.
 */
export async function startProcess(script: string, options: ProcessOptions = {}): Promise<RunningProcess> {
  const command = options.command ?? process.execPath;
  // The shell of the leash would only end with 127.
  if (command.includes('/')) await access(command, constants.X_OK);
  const args = [...(options.nodeArgs ?? []), script, ...(options.args ?? [])];
  const child = spawn('sh', leashed(command, args, '$$'), {
    cwd: options.cwd,
    env: {
      ...bareEnvironment(),
      ...compiledBeside(script),
      ...options.env,
      ...(options.command === undefined ? asInImage(options.env) : {}),
    },
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
  });
  unleash(child);
  // `close`, not `exit`: only then all output has been read.
  const exit = new Promise<Exit>((resolve) => {
    child.once('close', (code, signal) => resolve({ code, signal }));
  });
  const output = collectOutput(child);
  await once(child, 'spawn');
  const { pid } = child;
  if (pid === undefined) throw new Error(`${command} was started without a process id`);
  let exited: Exit | undefined;
  void exit.then((value) => {
    exited = value;
    if (!options.showsKey) searchOutput(script, `${output.stdout()}${output.stderr()}`);
  });

  function ended(wanted: string): Error {
    return failed(`ended (${exited?.signal ?? `code ${exited?.code}`}) before ${wanted}`);
  }

  function failed(how: string): Error {
    return new Error(`${script} ${how}\n--- stdout\n${output.stdout()}\n--- stderr\n${output.stderr()}`);
  }

  async function unlessEnded(line: Promise<string>, pattern: RegExp): Promise<string> {
    const found = await Promise.race([line, exit.then(() => undefined)]);
    if (found === undefined) throw ended(`it said ${pattern}`);
    return found;
  }

  return {
    pid,
    stdout: output.stdout,
    stderr: output.stderr,
    line: (pattern) => unlessEnded(output.line(pattern), pattern),
    async nextLine(pattern, boundMs = 60_000) {
      const { promise: bound, reject } = Promise.withResolvers<never>();
      const timer = setTimeout(() => reject(failed(`did not say ${pattern} within ${boundMs} ms`)), boundMs);
      try {
        return await Promise.race([unlessEnded(output.nextLine(pattern), pattern), bound]);
      } finally {
        clearTimeout(timer);
      }
    },
    async answering(url, status = 200) {
      for (;;) {
        if (exited !== undefined) throw ended(`${url} answered ${status}`);
        if ((await statusOf(url)) === status) return;
        // A process gives no event when it begins to listen; asking again is the only way.
        await Promise.race([exit, new Promise((resolve) => setTimeout(resolve, 20))]);
      }
    },
    signal: (name) => void child.kill(name),
    exit,
    async stop(graceMs = 5_000) {
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), graceMs);
      const value = await exit;
      clearTimeout(timer);
      return value;
    },
  };
}

/** What runs as in a pod also does without what the image forbids, whatever else a test tells Node. */
function asInImage({ NODE_OPTIONS: more }: NonNullable<ProcessOptions['env']> = {}): Record<string, string> {
  const shipped = image.config.Env.NODE_OPTIONS;
  return { NODE_OPTIONS: more === undefined ? shipped : `${shipped} ${more}` };
}

/** What Node has compiled of a kept build is kept with it. */
function compiledBeside(script: string): Record<string, string> {
  if (!script.startsWith(builtFolder())) return {};
  return { NODE_COMPILE_CACHE: join(dirname(script), '../compiled') };
}

function collectOutput(child: ChildProcess) {
  const text = { stdout: '', stderr: '' };
  const unfinished = { stdout: '', stderr: '' };
  const lines: string[] = [];
  const listeners = new Set<(line: string) => void>();
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]?.setEncoding('utf8').on('data', (piece: string) => {
      text[name] += piece;
      const parts = (unfinished[name] + piece).split('\n');
      unfinished[name] = parts.pop() ?? '';
      for (const line of parts) {
        lines.push(line);
        for (const listen of listeners) listen(line);
      }
    });
  }
  function nextLine(pattern: RegExp): Promise<string> {
    return new Promise((resolve) => {
      const listen = (line: string): void => {
        if (!pattern.test(line)) return;
        listeners.delete(listen);
        resolve(line);
      };
      listeners.add(listen);
    });
  }

  return {
    stdout: () => text.stdout,
    stderr: () => text.stderr,
    nextLine,
    line(pattern: RegExp): Promise<string> {
      const known = lines.find((line) => pattern.test(line));
      return known === undefined ? nextLine(pattern) : Promise.resolve(known);
    },
  };
}

/** Undefined where nobody answers. */
function statusOf(url: string): Promise<number | undefined> {
  return new Promise((resolve) => {
    const request = get(url, { agent: false, timeout: 2_000 }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    request.on('timeout', () => request.destroy());
    request.on('error', () => resolve(undefined));
  });
}
