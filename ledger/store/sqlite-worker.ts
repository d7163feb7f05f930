// The thread of one connection to a SQLite ledger: runs its commands in order, and returns their results.

import { parentPort, workerData } from 'node:worker_threads';
import { openSqliteFile, type SqliteFile } from './sqlite-file.ts';

export interface WorkerStart {
  readonly path: string;
  /** One of two: the other one writes. */
  readonly isReader: boolean;
}

/** A method of `SqliteFile`, and what it is given. */
export interface WorkerOrder {
  readonly id: number;
  readonly method: keyof SqliteFile;
  readonly args: readonly unknown[];
}

export type WorkerAnswer = { readonly id: number } & (
  | { readonly value: unknown }
  | { readonly error: string }
);

const { path, isReader } = workerData as WorkerStart;
const port = parentPort;
if (port === null) throw new Error('sqlite-worker.ts runs as a worker thread, not as a process');
const answer = (message: WorkerAnswer): void => port.postMessage(message);
const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

try {
  const file = openSqliteFile(path, isReader);
  port.on('message', ({ id, method, args }: WorkerOrder) => {
    try {
      const call = file[method] as (...values: readonly unknown[]) => unknown;
      answer({ id, value: call(...args) });
    } catch (error) {
      answer({ id, error: messageOf(error) });
    }
    if (method === 'close') port.close();
  });
  answer({ id: 0, value: undefined });
} catch (error) {
  answer({ id: 0, error: messageOf(error) });
  port.close();
}
