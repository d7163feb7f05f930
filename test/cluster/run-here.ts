// What does a command say, and how does it end? Run by this process itself.

import { spawn } from 'node:child_process';
import { leashed, unleash } from './leash.ts';

export interface Ran {
  /** Null when it was ended by a signal, such as at the time limit, or could not be started. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** The last line of stderr: where programs say why. */
  readonly lastLine: string;
}

export interface Command {
  readonly command: string;
  readonly args: readonly string[];
  readonly stdin: string;
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  /** Then SIGKILL. */
  readonly timeoutMs: number;
  /** SIGKILL after so long without output, and no `timeoutMs`: for what goes on as long as it makes progress. */
  readonly quietMs?: number | undefined;
}

/** A failing command is a result, not an exception. What it started itself ends with it, at an abort too. */
export async function runHere(
  { command, args, stdin, env, cwd, timeoutMs, quietMs }: Command,
  signal: AbortSignal,
): Promise<Ran> {
  const child = spawn('sh', leashed(command, args, '-$$'), {
    cwd,
    env,
    stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
    // A process group of its own.
    detached: true,
  });
  unleash(child);
  const end = () => {
    if (child.pid === undefined) return;
    try {
      process.kill(-child.pid, 'SIGKILL');
    } catch {
      // It has ended already.
    }
  };
  const timer = setTimeout(end, quietMs ?? timeoutMs);
  const text = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (piece: string) => {
      text[name] += piece;
      if (quietMs !== undefined) timer.refresh();
    });
  signal.addEventListener('abort', end, { once: true });
  try {
    const code = await new Promise<number | null>((resolve) => {
      child.once('close', resolve);
      child.once('error', (error) => {
        text.stderr += error.message;
        resolve(null);
      });
      // It may end without having read what it was given.
      child.stdin.on('error', () => {});
      child.stdin.end(stdin);
    });
    return { code, ...text, lastLine: text.stderr.trimEnd().split('\n').at(-1) ?? '' };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', end);
  }
}
