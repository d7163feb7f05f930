// What changes in a collection, as one person may see it? A watch that goes on where it was cut off, and says so where it cannot.
//
//   position --> watch open --RESET--> changes --ended, cut, idle--> wait --> watch, from the last resourceVersion
//      ^                                    |
//      +--------------- wait <--------------+-- 410, nonsense
//
// Read by a generator: a reader that takes no next event makes the API server wait, and nothing is kept here.

import type { Clock } from '../../core/clock.ts';
import { type Backoff, backoffMs } from '../../core/kube/backoff.ts';
import { KubeError, type KubeStream } from '../../core/kube/client.ts';
import type { KubeConnection } from '../../core/kube/connection.ts';
import { makeLineSplitter } from '../../core/kube/lines.ts';
import { isRecord } from '../../core/kube/object.ts';
import { wait } from '../../core/kube/wait.ts';
import { ClusterAway, type ClusterEvent, ClusterRefusal, failureAnswer } from '../cluster.ts';

interface WatchOptions {
  readonly connection: KubeConnection;
  readonly token: string;
  readonly clock: Clock;
  /** Of the collection. */
  readonly path: string;
  readonly signal: AbortSignal;
  /** Version of a known list: the watch begins there, and not at the collection's present state. */
  readonly from?: string | undefined;
}

const lineBytesMax = 4 * 2 ** 20;
const watchSeconds = 300;
/** No byte for so long: the connection is taken for dead. A bookmark comes each minute. */
const idleMs = 75_000;
const backoff: Backoff = { firstMs: 500, lastMs: 30_000 };

export async function* watchCollection(options: WatchOptions): AsyncGenerator<ClusterEvent, void, void> {
  const { clock, signal } = options;
  let position = options.from;
  let failures = 0;
  let isFirst = true;
  let isReset = true;
  while (!signal.aborted) {
    try {
      if (position === undefined) {
        position = await readPosition(options);
        isReset = true;
      }
      using stream = await openWatch(options, position);
      // Not before the watch is open: a page that gets it waits for changes, and polls no more.
      if (isReset) yield { type: 'RESET', resourceVersion: position };
      isFirst = isReset = false;
      for await (const { event, resourceVersion } of readSteps(stream, options)) {
        position = resourceVersion;
        failures = 0;
        if (event !== undefined) yield event;
      }
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof KubeError) || isRefusal(error)) throw refusalOf(error);
      // Before the first event the caller can still be answered with an error. An outdated list (410) is not an error.
      if (isFirst && error.status !== 410) throw new ClusterAway(error.message);
      if (error.status !== 0) position = undefined;
      failures += 1;
    }
    await wait(clock, failures === 0 ? 50 : backoffMs(backoff, failures - 1, 0.5), signal);
  }
}

/** Where a watch misses nothing that a list from now on does not show. @throws {KubeError} */
async function readPosition({ connection, token, path, signal }: WatchOptions): Promise<string> {
  const body = await connection.call({ method: 'GET', path, query: { limit: 1 }, bearer: token, signal });
  const metadata = isRecord(body) ? body.metadata : undefined;
  const resourceVersion = isRecord(metadata) ? metadata.resourceVersion : undefined;
  if (typeof resourceVersion !== 'string')
    throw new KubeError(0, 'Garbled', `GET ${path}: the list has no resourceVersion`);
  return resourceVersion;
}

interface Step {
  /** Undefined: a bookmark. */
  readonly event: ClusterEvent | undefined;
  readonly resourceVersion: string;
}

/** Its head has come. @throws {KubeError} */
async function openWatch(options: WatchOptions, from: string): Promise<KubeStream & Disposable> {
  const { connection, token, path, signal } = options;
  const stream = await connection.stream({
    method: 'GET',
    path,
    query: { watch: true, allowWatchBookmarks: true, resourceVersion: from, timeoutSeconds: watchSeconds },
    bearer: token,
    signal,
  });
  const stop = (): void => stream.close();
  signal.addEventListener('abort', stop, { once: true });
  return {
    ...stream,
    [Symbol.dispose]() {
      signal.removeEventListener('abort', stop);
      stop();
    },
  };
}

/** @throws {KubeError} */
async function* readSteps(
  stream: KubeStream,
  { clock, path }: WatchOptions,
): AsyncGenerator<Step, void, void> {
  try {
    const lines = makeLineSplitter(lineBytesMax);
    for await (const piece of piecesOf(stream, clock))
      for (const line of lines.push(piece)) yield parseStep(line, path);
  } catch (error) {
    if (error instanceof KubeError) throw error;
    throw new KubeError(0, 'Cut', `GET ${path}: the watch was cut off`, { cause: error });
  }
}

/** The idle time counts only while the next piece is awaited. */
async function* piecesOf(stream: KubeStream, clock: Clock): AsyncGenerator<Buffer, void, void> {
  const pieces = stream.body[Symbol.asyncIterator]();
  for (;;) {
    const cancelTimer = clock.setTimer(idleMs, () => stream.close());
    const next = await pieces.next().finally(cancelTimer);
    if (next.done === true) return;
    yield next.value;
  }
}

/** Neither the line nor what a parser says of it gets into a message. */
function parseStep(line: string, path: string): Step {
  const garbled = () => new KubeError(410, 'Garbled', `GET ${path}: a line of the watch is no event`);
  const parsed = parseJson(line);
  if (!isRecord(parsed) || !isRecord(parsed.object)) throw garbled();
  const { type, object } = parsed;
  if (type === 'ERROR') {
    const code = typeof object.code === 'number' ? object.code : 410;
    throw new KubeError(code, 'WatchError', `GET ${path}: the watch ended with ${code}`);
  }
  const { metadata } = object;
  if (!isRecord(metadata) || typeof metadata.resourceVersion !== 'string') throw garbled();
  // Half of many objects, and of no use on a page.
  delete metadata.managedFields;
  const { resourceVersion } = metadata;
  if (type === 'BOOKMARK') return { event: undefined, resourceVersion };
  if (type !== 'ADDED' && type !== 'MODIFIED' && type !== 'DELETED') throw garbled();
  return { event: { type, object }, resourceVersion };
}

function isRefusal({ status }: KubeError): boolean {
  return status === 401 || status === 403 || status === 404;
}

function refusalOf(error: unknown): unknown {
  if (!(error instanceof KubeError)) return error;
  return new ClusterRefusal(failureAnswer(error.status, error.reason, error.message));
}

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
