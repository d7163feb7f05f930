// What does one watch say, until it ends? Bytes become events; silence, cuts and nonsense become faults.

import type { Clock } from '../clock.ts';
import { parseStatus, reasonOf } from './answer.ts';
import { type KubeClient, KubeError, type KubeRequest } from './client.ts';
import { makeLineSplitter } from './lines.ts';
import { isRecord, type KubeObject, parseObject } from './object.ts';

export type WatchEvent =
  | { readonly type: 'upserted' | 'deleted'; readonly object: KubeObject; readonly resourceVersion: string }
  | { readonly type: 'bookmark'; readonly resourceVersion: string };

interface WatchStreamOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly request: KubeRequest;
  /** No byte for so long: the connection is taken for dead. */
  readonly idleMs: number;
  onOpen(): void;
  /** For each piece of the stream; what it throws ends the watch. */
  onEvents(events: readonly WatchEvent[]): void;
}

/** A Secret has at most 1 MiB, and base64 and metadata beside it. A longer line is a fault, never memory. */
const lineBytesMax = 4 * 2 ** 20;

/** Resolves when the server has ended it in order. @throws {KubeError} */
export async function readWatch(options: WatchStreamOptions): Promise<void> {
  const { client, clock, request, idleMs } = options;
  const stream = await client.stream(request);
  options.onOpen();
  const lines = makeLineSplitter(lineBytesMax);
  const pieces = stream.body[Symbol.asyncIterator]();
  let activeAtMs = clock.now();
  let isIdle = false;
  let cancelTimer = clock.setTimer(idleMs, checkIdle);

  // One timer for the whole watch, not a new one for each piece.
  function checkIdle(): void {
    const leftMs = activeAtMs + idleMs - clock.now();
    if (leftMs > 0) {
      cancelTimer = clock.setTimer(leftMs, checkIdle);
      return;
    }
    isIdle = true;
    stream.close();
  }

  function fault(reason: string, message: string, cause?: unknown): KubeError {
    return new KubeError(0, reason, `GET ${request.path}: ${message}`, { cause });
  }

  async function readPiece(): Promise<Buffer | undefined> {
    try {
      const next = await pieces.next();
      if (next.done !== true) return next.value;
    } catch (error) {
      if (!isIdle) throw fault('Cut', 'the watch was cut off', error);
    }
    if (isIdle) throw fault('Idle', `the watch was silent for ${idleMs} ms`);
    return undefined;
  }

  function splitPiece(piece: Buffer): string[] {
    try {
      return lines.push(piece);
    } catch (error) {
      throw fault('Garbled', 'an event of the watch is too long', error);
    }
  }

  try {
    for (let piece = await readPiece(); piece !== undefined; piece = await readPiece()) {
      activeAtMs = clock.now();
      const events: WatchEvent[] = [];
      // Events before a bad line count.
      try {
        for (const line of splitPiece(piece)) events.push(parseWatchLine(line, request.path));
      } finally {
        options.onEvents(events);
      }
    }
    if (lines.restBytes() > 0) throw fault('Cut', 'the watch ended inside of an event');
  } finally {
    cancelTimer();
    stream.close();
  }
}

/** @throws {KubeError} `Garbled`, or what an ERROR event of the server says. */
function parseWatchLine(line: string, path: string): WatchEvent {
  // Neither the line nor what a parser says of it gets into a message: it may be a Secret.
  const garbled = (what: string) => new KubeError(0, 'Garbled', `GET ${path}: ${what}`);
  const event = parseJson(line);
  if (!isRecord(event)) throw garbled('a line of the watch is no event');
  if (event.type === 'ERROR') throw readErrorEvent(event.object, path);
  if (event.type === 'BOOKMARK') {
    // A bookmark has no name, so it is no object as the others are.
    const metadata = isRecord(event.object) ? event.object.metadata : undefined;
    const resourceVersion = isRecord(metadata) ? metadata.resourceVersion : undefined;
    if (typeof resourceVersion !== 'string') throw garbled('a bookmark has no resourceVersion');
    return { type: 'bookmark', resourceVersion };
  }
  const type = readType(event.type);
  if (type === undefined) throw garbled('an event of the watch is of no known type');
  let object: KubeObject;
  try {
    object = parseObject(event.object);
  } catch (error) {
    throw garbled(error instanceof TypeError ? error.message : 'an event of the watch has no object');
  }
  const { resourceVersion } = object.metadata;
  if (resourceVersion === undefined) throw garbled('an event of the watch has no resourceVersion');
  return { type, object, resourceVersion };
}

function readType(type: unknown): 'upserted' | 'deleted' | undefined {
  if (type === 'ADDED' || type === 'MODIFIED') return 'upserted';
  return type === 'DELETED' ? 'deleted' : undefined;
}

function readErrorEvent(object: unknown, path: string): KubeError {
  const { code, reason, message, retryAfterMs } = parseStatus(object);
  const status = code ?? 500;
  return new KubeError(status, reason ?? reasonOf(status), `GET ${path}: ${message ?? 'the watch failed'}`, {
    retryAfterMs,
  });
}

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
