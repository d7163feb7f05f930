// What objects are there now, and what changes? A list and then a watch that outlives every fault of the connection.
//
//   list --ok--> watch --ended, cut, idle, refused--> wait --> watch, from the last resourceVersion
//    ^             |
//    +--- wait <---+-- 410, garbled, older than what was seen, handler failed, refused five times

import type { Clock } from '../clock.ts';
import { type Backoff, backoffMs } from './backoff.ts';
import { type KubeClient, KubeError } from './client.ts';
import { type ListQuery, listPages } from './list.ts';
import { makeMirror, type ReflectorEvent } from './mirror.ts';
import type { KubeObject } from './object.ts';
import { isOlder } from './resource-version.ts';
import { wait } from './wait.ts';
import { readWatch, type WatchEvent } from './watch-stream.ts';

export type { DeletionCause, ReflectorEvent } from './mirror.ts';

export interface ReflectorOptions<T> {
  readonly client: KubeClient;
  readonly clock: Clock;
  /** From 0 up to 1. */
  random(): number;
  /** Of the collection. */
  readonly path: string;
  readonly query?: ListQuery;
  /** The objects come with their metadata alone. */
  readonly metadataOnly?: boolean;
  /**
   * Only what it gives is kept. Where it throws, the object stays as it was, trouble is reported and the others move.
   */
  convert(object: KubeObject): T;
  /** After the store has changed. Where it throws, trouble is reported, and the event comes again after a relist. */
  onEvent(event: ReflectorEvent<T>): void;
  /** A watch opened or closed. While it is closed the store may be out of date, by an unknown time. */
  onOpen?(isOpen: boolean): void;
  /** For logs and metrics; holds no secret. */
  onTrouble?(trouble: Trouble): void;
  /** No byte for so long: the connection is taken for dead. Default 70 s; a bookmark comes each minute. */
  readonly idleMs?: number;
}

export interface Trouble {
  /** As in KubeError; also `Cut`, `Idle`, `ClosedAtOnce`, `Garbled`, `Stale`, `HandlerFailed`, `Unreadable`. */
  readonly reason: string;
  readonly message: string;
  /** 0: nothing is repeated because of it. */
  readonly retryInMs: number;
}

interface ReflectorStats {
  /** Complete ones. */
  readonly lists: number;
  /** Watches that the server accepted. */
  readonly watches: number;
  readonly events: number;
  readonly bookmarks: number;
  readonly troubles: number;
}

export interface Reflector<T> {
  readonly store: ReadonlyMap<string, T>;
  hasSynced(): boolean;
  /** After the first complete list; rejects if it is closed before. */
  readonly synced: Promise<void>;
  /** When the server last gave a sign of life, in the time of the clock. */
  lastActivityMs(): number;
  stats(): ReflectorStats;
  close(): Promise<void>;
}

const listBackoff: Backoff = { firstMs: 800, lastMs: 30_000 };
// A server that is back has everybody again within ten seconds; a thousand watches are a hundred calls a second then.
const watchBackoff: Backoff = { firstMs: 200, lastMs: 10_000 };
/** A server that asks for more than this is not obeyed: a wrong header must not blind us for hours. */
const retryAfterMsMax = 60_000;
/** Ended by the server before this without a word: it is closing what it accepts, not ending a long watch. */
const shortWatchMs = 1_000;
/** So often in a row a resumed watch is refused before everything is listed: its start may be the reason. */
const refusalsMax = 5;
const watchSeconds = { least: 300, most: 600 };
const metadataAccept = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1';

export function startReflector<T>(options: ReflectorOptions<T>): Reflector<T> {
  const { client, clock, path, query, metadataOnly } = options;
  const end = new AbortController();
  const synced = Promise.withResolvers<void>();
  // This promise may have no reader; closing early must then not be an unhandled rejection.
  synced.promise.catch(() => {});
  const counts = { lists: 0, watches: 0, events: 0, bookmarks: 0, troubles: 0 };
  const mirror = makeMirror<T>({
    convert: options.convert,
    onEvent: options.onEvent,
    onUnreadable: (key, error) => report('Unreadable', `${path}: ${key}: ${messageOf(error)}`, 0),
  });
  let activityMs = clock.now();
  /** Everything up to here has been seen. Undefined: a list is needed. */
  let position: string | undefined;
  let listFailures = 0;
  let watchFailures = 0;
  /** In a row, without an event in between. */
  let relists = 0;
  let refusals = 0;

  function report(reason: string, message: string, retryInMs: number): void {
    counts.troubles += 1;
    try {
      options.onTrouble?.({ reason, message, retryInMs });
    } catch {
      // A broken reporter must not end the watch, and the failure itself cannot be reported.
    }
  }

  function throwFailure(): void {
    const failure = mirror.takeFailure();
    if (failure === undefined) return;
    throw new KubeError(0, 'HandlerFailed', `${path}: the handler failed: ${messageOf(failure.error)}`, {
      cause: failure.error,
    });
  }

  async function list(): Promise<string> {
    const { resourceVersion } = await listPages({
      client,
      path,
      query,
      metadataOnly,
      signal: end.signal,
      onPage(items, index) {
        activityMs = clock.now();
        if (index === 0) mirror.beginList();
        for (const item of items) mirror.addListed(item);
      },
    });
    // Before the handler runs, because it may ask whether all lists are complete.
    counts.lists += 1;
    mirror.endList();
    synced.resolve();
    throwFailure();
    listFailures = 0;
    return resourceVersion;
  }

  /** How long the server kept it open. */
  async function watch(from: string): Promise<number> {
    let openedAtMs = clock.now();
    const { least, most } = watchSeconds;
    const idleMs = options.idleMs ?? 70_000;
    const timeoutSeconds = least + Math.floor(options.random() * (most - least));
    let isOpen = false;
    const reading = readWatch({
      client,
      clock,
      idleMs,
      request: {
        method: 'GET',
        path,
        // Until its head has come; silence before it is as bad as after it.
        timeoutMs: Math.min(idleMs, 30_000),
        query: { ...query, watch: true, allowWatchBookmarks: true, resourceVersion: from, timeoutSeconds },
        ...(metadataOnly === true ? { accept: metadataAccept } : {}),
        signal: end.signal,
      },
      onOpen() {
        openedAtMs = clock.now();
        activityMs = openedAtMs;
        counts.watches += 1;
        isOpen = true;
        options.onOpen?.(true);
      },
      onEvents(events) {
        activityMs = clock.now();
        for (const event of events) take(event);
        throwFailure();
        if (events.length > 0) noteSuccess();
      },
    });
    await reading.finally(() => {
      if (isOpen) options.onOpen?.(false);
    });
    return clock.now() - openedAtMs;
  }

  /** Called on the first event, not on the response: a server may accept a watch and refuse it in its first event. */
  function noteSuccess(): void {
    watchFailures = 0;
    relists = 0;
    refusals = 0;
  }

  function take(event: WatchEvent): void {
    // A server that went back in time, such as one restored from a backup: only a list tells what is true now.
    if (isOlder(event.resourceVersion, position)) {
      const what = `${event.resourceVersion} after ${position}`;
      throw new KubeError(0, 'Stale', `GET ${path}: the watch went back in time: ${what}`);
    }
    if (event.type === 'bookmark') counts.bookmarks += 1;
    else {
      counts.events += 1;
      if (event.type === 'upserted') mirror.upsert(event.object);
      else mirror.remove(event.object);
    }
    position = event.resourceVersion;
  }

  async function step(): Promise<number> {
    if (position === undefined) {
      try {
        position = await list();
      } catch (error) {
        return waitAfter(error, listBackoff, listFailures++);
      }
    }
    try {
      const livedMs = await watch(position);
      if (livedMs >= shortWatchMs) {
        noteSuccess();
        return 0;
      }
      throw new KubeError(0, 'ClosedAtOnce', `GET ${path}: the watch was closed as soon as it was opened`);
    } catch (error) {
      if (needsList(error)) {
        position = undefined;
        // Counted apart: after an outage the server says 410 at once, and what was waited before is not its fault.
        watchFailures = 0;
        return waitAfter(error, listBackoff, relists++);
      }
      return waitAfter(error, watchBackoff, watchFailures++);
    }
  }

  function needsList(error: unknown): boolean {
    if (!(error instanceof KubeError)) return true;
    if (error.status === 410 || relistReasons.has(error.reason)) return true;
    if (error.status === 0 || error.status === 429) return false;
    refusals += 1;
    if (refusals < refusalsMax) return false;
    refusals = 0;
    return true;
  }

  function waitAfter(error: unknown, backoff: Backoff, failures: number): number {
    if (end.signal.aborted) return 0;
    const ownMs = backoffMs(backoff, failures, options.random());
    const askedMs = error instanceof KubeError ? error.retryAfterMs : undefined;
    // A little longer than the server asked for, so that refused clients do not all come back together.
    const retryInMs = askedMs === undefined ? ownMs : Math.min(askedMs, retryAfterMsMax) + ownMs;
    report(error instanceof KubeError ? error.reason : 'Failed', messageOf(error), retryInMs);
    return retryInMs;
  }

  async function run(): Promise<void> {
    while (!end.signal.aborted) {
      const waitMs = await step();
      if (waitMs > 0) await wait(clock, waitMs, end.signal);
    }
    synced.reject(new Error(`The watch of ${path} was closed before its first list`));
  }

  const running = run();
  return {
    store: mirror.store,
    hasSynced: () => counts.lists > 0,
    synced: synced.promise,
    lastActivityMs: () => activityMs,
    stats: () => ({ ...counts }),
    async close() {
      end.abort();
      await running;
    },
  };
}

/** After these the position is not known for sure. A watch that was only cut off goes on where it was. */
const relistReasons = new Set(['Expired', 'Gone', 'Garbled', 'Stale', 'HandlerFailed']);

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : 'unknown error';
}
