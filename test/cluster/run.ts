// What does a command say, and how does it end? Run by a small process beside this one: a process that starts another is copied first,
// which takes a worker that has run a hundred test files 40 ms of its own each time, and a small one a single one.

import { type ChildProcess, fork } from 'node:child_process';
import { bareEnvironment } from '../support/bare-environment.ts';
import type { Command, Ran } from './run-here.ts';

export type { Ran } from './run-here.ts';

export interface RunOptions {
  readonly stdin?: string;
  /** Default: a bare one. */
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
  /** Default 60,000; then SIGKILL. */
  readonly timeoutMs?: number;
  /** In the place of `timeoutMs`: SIGKILL after so long without output. */
  readonly quietMs?: number;
  readonly signal?: AbortSignal;
}

/** What the runner is reported. */
export type Question =
  | { readonly id: number; readonly command: Command }
  | { readonly id: number; readonly isOver: true };

export interface Answer {
  readonly id: number;
  readonly ran: Ran;
}

interface Runner {
  readonly process: ChildProcess;
  readonly waiting: Map<number, PromiseWithResolvers<Ran>>;
}

let runner: Runner | undefined;
let asked = 0;

/** A failing command is a result, not an exception. What it started itself ends with it. */
export async function run(command: string, args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  const { signal } = options;
  signal?.throwIfAborted();
  const id = asked++;
  runner ??= startRunner();
  const { process: child, waiting } = runner;
  const answer = Promise.withResolvers<Ran>();
  waiting.set(id, answer);
  child.channel?.ref();
  const tell = (question: Question): void => void child.send(question);
  const end = (): void => tell({ id, isOver: true });
  signal?.addEventListener('abort', end, { once: true });
  tell({
    id,
    command: {
      command,
      args,
      stdin: options.stdin ?? '',
      env: options.env ?? bareEnvironment(),
      cwd: options.cwd ?? process.cwd(),
      timeoutMs: options.timeoutMs ?? 60_000,
      quietMs: options.quietMs,
    },
  });
  try {
    return await answer.promise;
  } finally {
    signal?.removeEventListener('abort', end);
    waiting.delete(id);
    if (waiting.size === 0) child.channel?.unref();
  }
}

function startRunner(): Runner {
  const child = fork(new URL('runner.ts', import.meta.url), { env: bareEnvironment(), execArgv: [] });
  const started: Runner = { process: child, waiting: new Map() };
  // A wait for an answer keeps this process alive; the child does not by itself.
  child.unref();
  child.on('message', ({ id, ran }: Answer) => started.waiting.get(id)?.resolve(ran));
  const fail = (error: Error): void => {
    if (runner === started) runner = undefined;
    for (const { reject } of started.waiting.values()) reject(error);
  };
  child.on('error', fail);
  child.once('exit', () => fail(new Error('the process that runs commands has ended')));
  return started;
}
