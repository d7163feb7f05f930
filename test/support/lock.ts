// Who may do this now, of all processes on the machine? One at a time; a lock whose holder has ended is taken over.

import { open, readFile, rm, stat } from 'node:fs/promises';

export interface LockOptions {
  /** Called once, where somebody else has it. */
  readonly onWait?: () => void;
  /** Ends the wait. */
  readonly signal?: AbortSignal;
}

export async function withLock<T>(
  path: string,
  work: () => Promise<T>,
  options: LockOptions = {},
): Promise<T> {
  let isFirst = true;
  while (!(await takeLock(path))) {
    options.signal?.throwIfAborted();
    if (isFirst) options.onWait?.();
    isFirst = false;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  try {
    return await work();
  } finally {
    await rm(path, { force: true });
  }
}

async function takeLock(path: string): Promise<boolean> {
  try {
    const file = await open(path, 'wx');
    await file.writeFile(String(process.pid));
    await file.close();
    return true;
  } catch (error) {
    if (!(error instanceof Error) || !('code' in error) || error.code !== 'EEXIST') throw error;
  }
  if (await isAbandoned(path)) await rm(path, { force: true });
  return false;
}

async function isAbandoned(path: string): Promise<boolean> {
  try {
    const pid = Number(await readFile(path, 'utf8'));
    // Just created and not yet written: its holder lives. Written by nobody for a minute: it does not.
    if (pid === 0) return Date.now() - (await stat(path)).mtimeMs > 60_000;
    process.kill(pid, 0);
    return false;
  } catch (error) {
    // ESRCH: no such process. ENOENT: the lock was given back at the same time. Anything else is not ours to break.
    return error instanceof Error && 'code' in error && error.code === 'ESRCH';
  }
}
