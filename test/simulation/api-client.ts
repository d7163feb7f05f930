// What lies between a process and the API server? Ways that take their time, answers that get lost, watches that break, stall,
// repeat themselves or talk nonsense; and a process that dies before or after a write has reached the server.

import { type KubeClient, KubeError, type KubeRequest, type KubeStream } from '../../core/kube/client.ts';
import { isRecord } from '../../core/kube/object.ts';
import {
  type ApiStore,
  type Change,
  fieldMatcher,
  labelMatcher,
  parsePath,
  pathOf,
  type Result,
  type Stored,
} from './api-store.ts';
import type { Random } from './random.ts';
import { POINTER_PATH } from './settings.ts';
import type { Process, World } from './world.ts';

/** How bad it is just now. Shares are from 0 to 1. */
export interface Weather {
  /** Of a way, there or back. */
  readonly latencyMs: readonly [number, number];
  /** How late a watch may tell. */
  readonly watchLatencyMs: readonly [number, number];
  /** Calls that the server does not take. */
  readonly refused: number;
  /** Calls whose answer does not come back. */
  readonly unanswered: number;
  /** Calls that are in flight for so long that the caller has given up at the same time. */
  readonly late: number;
  /** Watches that break, of each thing they tell. */
  readonly watchFaults: number;
  /** Broken watches may look as if they were whole; it takes more than a minute to notice. */
  readonly stalls: boolean;
  /** Reads out of the cache of the server that are behind. */
  readonly stale: number;
  /** Nothing comes through. */
  readonly isDown: boolean;
  /** New shards are refused, such as by a quota. */
  readonly refusesShards: boolean;
  /** Lists that lack most of what is there. */
  readonly emptyLists: number;
}

export const calm: Weather = {
  latencyMs: [1, 8],
  watchLatencyMs: [1, 15],
  refused: 0,
  unanswered: 0,
  late: 0,
  watchFaults: 0,
  stalls: false,
  stale: 0,
  isDown: false,
  refusesShards: false,
  emptyLists: 0,
};

/** What a process may meet beyond the weather, and what it may do to others. */
export interface Habits {
  /** Writes at which it dies, of all of them. */
  dies(): 'before' | 'after' | undefined;
  /** How long it stops with a write of the table in flight, which comes as late; undefined: it does not. */
  stumbles(): number | undefined;
  /** Reported when that has happened. */
  onDeath(what: string): void;
}

export interface ApiNetwork {
  weather(): Weather;
  /** Reported of every trouble that was made: it is not calm then. */
  onTrouble(what: string): void;
}

export interface ApiServer {
  readonly store: ApiStore;
  connect(process: Process, habits?: Habits): KubeClient;
  setWeather(weather: Weather): void;
  weather(): Weather;
  /** When something went wrong last. */
  troubledMs(): number;
  /** Somebody reads a watch that is dead. */
  hasStalled(): boolean;
  /** A client whose list lacked an object is notified again. */
  correctLies(): void;
  /** Every watch has to begin with a list. */
  breakAllWatches(): void;
  /** Asked of each write of a process before it is done. */
  onWrite(look: (write: SeenWrite) => void): void;
}

export interface SeenWrite {
  readonly process: string;
  readonly method: KubeRequest['method'];
  readonly path: string;
  readonly body: unknown;
  /** What the server answered, or undefined before it is done. */
  readonly result: Result;
}

interface Watch {
  readonly process: Process;
  readonly matches: (stored: Stored) => boolean;
  readonly resource: string;
  take(change: Change): void;
  breakOff(fault: WatchFault): void;
}

type WatchFault = 'reset' | 'closed' | 'garbled' | 'gone' | 'stalled' | 'old';

const watchFaults: readonly [WatchFault, ...WatchFault[]] = [
  'reset',
  'closed',
  'garbled',
  'gone',
  'stalled',
  'old',
];
const bookmarkMs = 60_000;

export function makeApiServer(world: World, store: ApiStore, random: Random): ApiServer {
  const watches = new Set<Watch>();
  /** Open for their readers, and dead. */
  const stalled = new Set<{ readonly process: Process }>();
  const looks: ((write: SeenWrite) => void)[] = [];
  let weather = calm;
  let troubledMs = 0;
  let hasLied = false;

  store.onChange((change) => {
    for (const watch of watches) {
      if (!watch.process.isAlive()) watches.delete(watch);
      else if (watch.resource === change.resource) watch.take(change);
    }
  });

  function trouble(what: string): void {
    troubledMs = world.nowMs();
    world.note(what);
  }

  function hasStalled(): boolean {
    for (const { process } of stalled) if (process.isAlive()) return true;
    return false;
  }

  function breakAllWatches(): void {
    store.compact();
    for (const watch of [...watches]) if (watch.process.isAlive()) watch.breakOff('gone');
  }

  const between = ([least, most]: readonly [number, number]): number =>
    least + random.next() * (most - least);

  function anyFault(): WatchFault {
    const fault = random.pick(watchFaults);
    return fault === 'stalled' && !weather.stalls ? 'reset' : fault;
  }

  function refuse(request: KubeRequest, status: number, reason: string, retryAfterMs?: number): KubeError {
    return new KubeError(status, reason, `${request.method} ${request.path}: ${status}: ${reason}`, {
      retryAfterMs,
    });
  }

  function anyRefusal(request: KubeRequest): KubeError {
    return random.pick([
      () => refuse(request, 0, 'Unreachable'),
      () => refuse(request, 429, 'TooManyRequests', 1_000),
      () => refuse(request, 500, 'InternalError'),
      () => refuse(request, 503, 'ServiceUnavailable'),
    ])();
  }

  /** The body of the answer as text. @throws {KubeError} */
  function answer(by: string, request: KubeRequest): string {
    const { method, path, body, query = {} } = request;
    const target = parsePath(path);
    if (method === 'GET') {
      if (target.name === undefined) return listText(request);
      const isFromCache = String(query.resourceVersion) === '0' && random.chance(weather.stale);
      const found = isFromCache
        ? store.findAt(path, store.version() - random.between(1, 12))
        : store.find(path);
      if (found === undefined) throw refuse(request, 404, 'NotFound');
      return found.text();
    }
    const result = isRefusedShard(request)
      ? ({ ok: false, status: 403, reason: 'Forbidden' } as const)
      : write(by, request);
    for (const look of looks) look({ process: by, method, path, body, result });
    world.note(
      `${by} ${method} ${path} -> ${result.ok ? result.stored.version : `${result.status} ${result.reason}`}`,
    );
    if (!result.ok) throw refuse(request, result.status, result.reason);
    return result.stored.text();
  }

  function isRefusedShard({ method, body }: KubeRequest): boolean {
    return weather.refusesShards && method === 'POST' && isRecord(body) && body.immutable === true;
  }

  function write(by: string, { method, path, body, contentType }: KubeRequest): Result {
    const target = parsePath(path);
    switch (method) {
      case 'POST':
        return store.create(by, target, body);
      case 'PUT':
        return store.replace(by, path, body);
      case 'PATCH':
        return store.patch(by, target, body, contentType === 'application/apply-patch+yaml');
      case 'DELETE':
        return store.remove(by, path, isRecord(body) ? body.preconditions : undefined);
      default:
        throw new RangeError(`${method} is no write`);
    }
  }

  function listText(request: KubeRequest): string {
    const { path, query = {}, accept = '' } = request;
    const target = parsePath(path);
    const isMeta = accept.includes('PartialObjectMetadata');
    let found = store.list(target.resource, target.namespace).filter(matcherOf(query, target.namespace));
    if (found.length >= 20 && random.chance(weather.emptyLists)) {
      trouble(`a list of ${path} lacks most of what is there`);
      hasLied = true;
      found = found.slice(0, random.between(0, 3));
    }
    const items = found.map((one) => (isMeta ? one.metaText() : one.text()));
    return `{"metadata":{"resourceVersion":"${store.version()}"},"items":[${items.join(',')}]}`;
  }

  return {
    store,
    setWeather(next) {
      weather = next;
    },
    weather: () => weather,
    troubledMs: () => (hasStalled() ? world.nowMs() : troubledMs),
    hasStalled,
    correctLies() {
      if (!hasLied) return;
      hasLied = false;
      breakAllWatches();
      // Also clients that have just been notified.
      world.after(4_000, breakAllWatches);
    },
    breakAllWatches,
    onWrite: (look) => void looks.push(look),
    connect(process, habits) {
      const open = new Set<() => void>();
      let isClosed = false;

      /** On its way there, at the server, in flight back. The caller gives up by itself. */
      function send<T>(request: KubeRequest, serve: () => T, discard?: (unused: T) => void): Promise<T> {
        const { promise, resolve, reject } = Promise.withResolvers<T>();
        if (!process.isAlive()) return promise;
        const isWrite = request.method !== 'GET';
        const death = isWrite ? habits?.dies() : undefined;
        if (death === 'before') {
          die(`before ${request.method} ${request.path}`);
          return promise;
        }
        const stumbleMs = isWrite && request.path === POINTER_PATH ? habits?.stumbles() : undefined;
        const { signal, timeoutMs = 30_000 } = request;
        if (isClosed) return Promise.reject(refuse(request, 0, 'Closed'));
        if (signal?.aborted === true) return Promise.reject(refuse(request, 0, 'Aborted'));
        let isOver = false;
        const finish = (end: () => void): void => {
          if (isOver) return;
          isOver = true;
          cancelTimer();
          signal?.removeEventListener('abort', onAbort);
          open.delete(onClose);
          end();
        };
        const onAbort = (): void => finish(() => reject(refuse(request, 0, 'Aborted')));
        const onClose = (): void => finish(() => reject(refuse(request, 0, 'Closed')));
        const cancelTimer = process.after(timeoutMs, () =>
          finish(() => reject(refuse(request, 0, 'Timeout'))),
        );
        signal?.addEventListener('abort', onAbort, { once: true });
        open.add(onClose);
        const back = (end: () => void): void =>
          void process.after(between(weather.latencyMs), () => finish(end));
        const there = between(weather.latencyMs) + (stumbleMs ?? 0);
        if (stumbleMs !== undefined) {
          trouble(`${process.name} stops for ${stumbleMs} ms over a write of the table`);
          process.freeze(stumbleMs);
        }
        if (weather.isDown) {
          // Refused at once, or never answered.
          troubledMs = world.nowMs();
          if (random.chance(0.7)) back(() => reject(refuse(request, 0, 'Unreachable')));
          return promise;
        }
        if (random.chance(weather.refused)) {
          trouble(`${process.name}: ${request.method} ${request.path} is refused`);
          const error = anyRefusal(request);
          back(() => reject(error));
          return promise;
        }
        const isLate = isWrite && !request.path.endsWith('/status') && random.chance(weather.late);
        if (isLate) trouble(`${process.name}: ${request.method} ${request.path} is in flight for long`);
        const isLost = discard === undefined && random.chance(weather.unanswered);
        world.after(isLate ? there + between([5_000, timeoutMs + 5_000]) : there, () => {
          let served: T;
          try {
            served = serve();
          } catch (error) {
            if (!(error instanceof KubeError)) {
              world.fail(`the simulated API server cannot do this: ${String(error)}`);
              return;
            }
            if (death === 'after') die(`after ${request.method} ${request.path}`);
            back(() => reject(error));
            return;
          }
          if (death === 'after') {
            die(`after ${request.method} ${request.path}`);
          } else if (isLost) {
            trouble(`${process.name}: the answer to ${request.method} ${request.path} is lost`);
            if (random.chance(0.7)) back(() => reject(refuse(request, 0, 'Unreachable')));
          } else {
            process.after(between(weather.latencyMs), () => {
              if (isOver) discard?.(served);
              else finish(() => resolve(served));
            });
          }
        });
        return promise;
      }

      function die(what: string): void {
        if (!process.isAlive()) return;
        process.kill();
        trouble(`${process.name} dies ${what}`);
        habits?.onDeath(what);
      }

      return {
        async call(request) {
          const text = await send(request, () => answer(process.name, request));
          return JSON.parse(text);
        },
        stream: (request) =>
          send(
            request,
            () => openWatch(process, request),
            (unused) => unused.close(),
          ),
        close() {
          isClosed = true;
          for (const end of [...open]) end();
        },
      };
    },
  };

  function openWatch(process: Process, request: KubeRequest): KubeStream {
    const { path, query = {}, accept = '', signal } = request;
    const { resource, namespace } = parsePath(path);
    const isMeta = accept.includes('PartialObjectMetadata');
    const matches = matcherOf(query, namespace);
    const from = Number(query.resourceVersion);
    const missed = store.since(from);
    if (missed === undefined && random.chance(0.5)) throw refuse(request, 410, 'Expired');

    const pieces = makePieces();
    let lastAtMs = 0;
    let isOver = false;
    let reportedVersion = from;
    let lastLine: string | undefined;
    const lastWord = { process };

    /** In order, whatever the way takes. */
    function deliver(run: () => void): void {
      lastAtMs = Math.max(lastAtMs, world.nowMs() + between(weather.watchLatencyMs));
      process.after(lastAtMs - world.nowMs(), run);
    }

    function say(line: string): void {
      deliver(() => pieces.push(Buffer.from(`${line}\n`)));
    }

    function end(run: () => void): void {
      if (isOver) return;
      isOver = true;
      watches.delete(watch);
      deliver(run);
    }

    function tell(change: Change): void {
      const was = change.before !== undefined && matches(change.before);
      const is = change.after !== undefined && matches(change.after);
      if (!was && !is) return;
      const stored = is ? change.after : change.before;
      if (stored === undefined) return;
      const text = isMeta ? stored.metaText() : stored.text();
      const type = is ? (was ? 'MODIFIED' : 'ADDED') : 'DELETED';
      // What is deleted is reported with the version of its deletion.
      const versioned = is
        ? text
        : text.replace(`"resourceVersion":"${stored.version}"`, `"resourceVersion":"${change.version}"`);
      const line = `{"type":"${type}","object":${versioned}}`;
      say(line);
      if (random.chance(weather.watchFaults)) {
        // The same once more: a client must not rely on one event for each change.
        say(line);
      }
      lastLine = line;
      reportedVersion = change.version;
    }

    const watch: Watch = {
      process,
      resource,
      matches,
      take(change) {
        if (isOver) return;
        if (weather.isDown) {
          watch.breakOff(weather.stalls ? 'stalled' : 'reset');
          return;
        }
        if (random.chance(weather.watchFaults)) watch.breakOff(anyFault());
        if (!isOver) tell(change);
      },
      breakOff(fault) {
        trouble(`${process.name}: the watch of ${path} is ${fault}`);
        switch (fault) {
          case 'reset':
            end(() => pieces.fail(new Error('the connection was reset')));
            return;
          case 'closed':
            end(() => pieces.end());
            return;
          case 'garbled':
            say('{"type":"MODIFIED","object":{"metada');
            end(() => pieces.end());
            return;
          case 'gone':
            say('{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired"}}');
            end(() => pieces.end());
            return;
          case 'stalled':
            // Nothing more is ever said.
            isOver = true;
            watches.delete(watch);
            stalled.add(lastWord);
            return;
          case 'old':
            if (lastLine !== undefined && reportedVersion > from) {
              say(lastLine.replace(/"resourceVersion":"\d+"/, `"resourceVersion":"${from}"`));
            }
            return;
        }
      },
    };

    if (missed === undefined) {
      say('{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired"}}');
      end(() => pieces.end());
    } else {
      watches.add(watch);
      for (const change of missed) if (change.resource === resource) tell(change);
      bookmarkLater();
      world.after(Number(query.timeoutSeconds) * 1_000, () => end(() => pieces.end()));
    }
    const stop = (): void => {
      stalled.delete(lastWord);
      isOver = true;
      watches.delete(watch);
      pieces.fail(new Error('given up by the caller'));
    };
    signal?.addEventListener('abort', stop, { once: true });
    return {
      body: pieces.body,
      close() {
        stalled.delete(lastWord);
        isOver = true;
        watches.delete(watch);
        signal?.removeEventListener('abort', stop);
        pieces.end();
      },
    };

    function bookmarkLater(): void {
      world.after(bookmarkMs * (0.9 + random.next() / 5), () => {
        if (isOver || !process.isAlive()) return;
        if (!weather.isDown) {
          say(`{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"${store.version()}"}}}`);
        }
        bookmarkLater();
      });
    }
  }
}

function matcherOf(
  query: NonNullable<KubeRequest['query']>,
  namespace: string | undefined,
): (stored: Stored) => boolean {
  const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
  const hasLabels = labelMatcher(text(query.labelSelector));
  const hasFields = fieldMatcher(text(query.fieldSelector));
  return (stored) =>
    (namespace === undefined || stored.namespace === namespace) && hasLabels(stored) && hasFields(stored);
}

/** Of an object that is a part of the cluster, not of a process. */
export function objectPathOf(resource: string, namespace: string | undefined, name: string): string {
  return pathOf({ resource, namespace, name, part: undefined });
}

interface Pieces {
  readonly body: AsyncIterable<Buffer>;
  push(piece: Buffer): void;
  end(): void;
  fail(error: Error): void;
}

function makePieces(): Pieces {
  const waiting: Buffer[] = [];
  let over: { readonly error?: Error } | undefined;
  let wanted: PromiseWithResolvers<IteratorResult<Buffer>> | undefined;

  function settle(): void {
    if (wanted === undefined) return;
    const piece = waiting.shift();
    const { resolve, reject } = wanted;
    if (piece === undefined && over === undefined) return;
    wanted = undefined;
    if (piece !== undefined) resolve({ done: false, value: piece });
    else if (over?.error !== undefined) reject(over.error);
    else resolve({ done: true, value: undefined });
  }

  return {
    body: {
      [Symbol.asyncIterator]: () => ({
        next() {
          wanted = Promise.withResolvers();
          const { promise } = wanted;
          settle();
          return promise;
        },
      }),
    },
    push(piece) {
      if (over === undefined) waiting.push(piece);
      settle();
    },
    end() {
      over ??= {};
      settle();
    },
    fail(error) {
      over ??= { error };
      settle();
    },
  };
}
