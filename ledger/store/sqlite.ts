// The ledger in a file. One thread writes and one reads: a heavy question does not delay records, and the event loop
// waits for neither. A third reads what budgets are kept by.

import { mkdir, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { inGroups } from './in-groups.ts';
import { readingOf } from './reading.ts';
import { type Arrival, pageRows } from './row.ts';
import type { SqliteFile } from './sqlite-file.ts';
import type { WorkerAnswer, WorkerOrder, WorkerStart } from './sqlite-worker.ts';
import { cursorQuery, putSink, sinkQuery } from './state-queries.ts';
import type { LedgerStore, Taken } from './store.ts';

/** Records that go in one step; some 30 ms. */
const purgeLimit = 2_000;

/**
 * @param path Its folder is created if it is missing.
 * @param onEnd A thread has ended unexpectedly: nothing more is stored, and only a restart of the process helps.
 * @param onSlow The file system is good enough, but slow.
 * @throws {Error} that names the file if it cannot be opened, or this release cannot continue it.
 */
export async function openSqliteStore(
  path: string,
  onEnd: (reason: string) => void = () => {},
  onSlow: (reason: string) => void = () => {},
): Promise<LedgerStore> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  // The ledger is personal data, so only its owner may read it; SQLite's side files get the same mode.
  await (await open(path, 'a', 0o600)).close();
  // The writer makes the tables, and the mode of the file that lets others read beside it.
  const writer = await openThread({ path, isReader: false }, onEnd);
  const slowness = await writer.call('slowness');
  if (slowness !== undefined) onSlow(`${path}: ${slowness}`);
  const openReader = (): Promise<Thread> => openThread({ path, isReader: true }, onEnd);
  const [reader, spendReader] = await Promise.all([openReader(), openReader()]).catch(
    async (error: unknown) => {
      await writer.close();
      throw error;
    },
  );

  // The more records a transaction has, the fewer times are the same sums and the same places of an index written.
  const take = inGroups<Arrival, Taken>((arrivals) =>
    writer.call(
      'take',
      arrivals.map(({ page }) => page),
      Math.max(...arrivals.map(({ nowMs }) => nowMs)),
    ),
  );

  return {
    // A file has one ledger.
    lead(duty) {
      duty.onElected();
      return { async close() {} };
    },
    async cursorOf(source) {
      // Asked of the writer, because only committed pages count.
      const [row] = await writer.call('query', cursorQuery(source));
      return row === undefined ? undefined : String(row.cursor);
    },
    take: (page, nowMs) => take({ page: pageRows(page), nowMs }),
    ...readingOf('sqlite', (query) => reader.call('query', query)),
    spend: readingOf('sqlite', (query) => spendReader.call('query', query)),
    async sinkCursor(sink) {
      const [row] = await writer.call('query', sinkQuery(sink));
      return Number(row?.sequence ?? 0);
    },
    setSinkCursor: (sink, sequence) => writer.call('run', putSink(sink, sequence)),
    async purge(options) {
      let gone = 0;
      for (;;) {
        const piece = await writer.call('purgePiece', options, purgeLimit);
        gone += piece.records;
        if (Object.values(piece).every((count) => count < purgeLimit)) return gone;
      }
    },
    async close() {
      await Promise.all([writer.close(), reader.close(), spendReader.close()]);
    },
  };
}

interface Thread {
  call<Method extends keyof SqliteFile>(
    method: Method,
    ...args: Parameters<SqliteFile[Method]>
  ): Promise<ReturnType<SqliteFile[Method]>>;
  close(): Promise<void>;
}

interface Waiting {
  resolve(value: never): void;
  reject(error: Error): void;
}

async function openThread(start: WorkerStart, onEnd: (reason: string) => void): Promise<Thread> {
  // A bundle lies beside the bundle of its thread, a source beside the source.
  const ending = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  const worker = new Worker(new URL(`./sqlite-worker.${ending}`, import.meta.url), { workerData: start });
  const waiting = new Map<number, Waiting>();
  const exit = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
  let orders = 0;
  let failure: Error | undefined;
  let isOpened = false;
  let isClosing = false;

  const fail = (error: Error): void => {
    failure ??= error;
    for (const { reject } of waiting.values()) reject(failure);
    waiting.clear();
  };
  worker.on('error', (error) => fail(error instanceof Error ? error : new Error(String(error))));
  worker.on('exit', () => {
    fail(new Error(`the ledger ${start.path} is closed`));
    if (isOpened && !isClosing) onEnd(failure?.message ?? '');
  });
  worker.on('message', (answer: WorkerAnswer) => {
    const asker = waiting.get(answer.id);
    waiting.delete(answer.id);
    if ('error' in answer) asker?.reject(new Error(answer.error));
    else asker?.resolve(answer.value as never);
  });
  await new Promise<void>((resolve, reject) => waiting.set(0, { resolve, reject }));
  isOpened = true;

  const call: Thread['call'] = (method, ...args) =>
    new Promise((resolve, reject) => {
      if (failure !== undefined) {
        reject(failure);
        return;
      }
      orders += 1;
      waiting.set(orders, { resolve, reject });
      worker.postMessage({ id: orders, method, args } satisfies WorkerOrder);
    });
  return {
    call,
    async close() {
      isClosing = true;
      await call('close').catch(() => {
        // The thread has ended already.
      });
      await exit;
    },
  };
}
