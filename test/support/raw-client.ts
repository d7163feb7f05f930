// What exactly came back over the wire? A raw-socket HTTP/1.1 client that sends exact bytes and knows how a body ended.

import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { type BodyEnding, type Head, makeAnswerParser } from './raw-client/parse-answer.ts';
import { makeSseSplitter, type SseEvent } from './raw-client/sse-events.ts';

export type { BodyEnding, Head } from './raw-client/parse-answer.ts';
export type { SseEvent } from './raw-client/sse-events.ts';

/** An answer whose body has ended, one way or another. */
export interface Finished {
  ending: BodyEnding;
  /** The body without chunk framing. */
  body: Buffer;
  text: string;
  /** The parsed body, or undefined where it is not JSON. */
  json: unknown;
  /** Every event and comment, in order. */
  events: readonly SseEvent[];
  /** An event that was begun and never finished. */
  unfinishedEvent: string;
  /** With chunked framing: one entry per HTTP chunk. Else: one per read. */
  pieces: readonly { bytes: Buffer; atMs: number }[];
  endedAtMs: number;
}

/** An answer whose head has arrived. */
export interface RawAnswer extends Head {
  informational: readonly Head[];
  headAtMs: number;
  /** The next event or comment, as it arrives; undefined when the body has ended. */
  nextEvent(): Promise<SseEvent | undefined>;
  /** Never rejects: a broken body is an ending like others. */
  finished: Promise<Finished>;
}

export interface RawConnection {
  socket: Socket;
  /** Settled when the kernel has taken the bytes. Rejects when the connection is broken. */
  send(bytes: string | Uint8Array): Promise<void>;
  /** The next answer in order. Rejects when the connection ends before a head has come. */
  answer(): Promise<RawAnswer>;
  /** A slow reader: nothing is read until `resume`; the peer's writes fill the buffers in between. */
  pause(): void;
  resume(): void;
  /** FIN on our side; answers can still be read. */
  halfClose(): void;
  /** RST. */
  abort(): void;
  /** Both sides, at once. */
  close(): void;
  /** How the peer ended the connection; `self` when we did. */
  closed: Promise<'fin' | 'reset' | 'self'>;
}

export interface RawTarget {
  port: number;
  /** Default 127.0.0.1. */
  host?: string;
  /** Where the connection comes from; the system's choice where left out. */
  localAddress?: string;
}

export interface RawRequest {
  /** Default POST with a body, GET without. */
  method?: string;
  path: string;
  /** A name may come twice. */
  headers?: Readonly<Record<string, string>> | readonly (readonly [string, string])[];
  /** An object is sent as JSON. */
  body?: string | Uint8Array | object;
}

/** One request on a connection of its own, read to its end, and the connection closed. */
export async function rawCall(
  target: RawTarget,
  request: RawRequest,
): Promise<Omit<RawAnswer, 'finished' | 'nextEvent'> & Finished> {
  const connection = await openRaw(target);
  try {
    await connection.send(writeRequest(request));
    const answer = await connection.answer();
    return { ...answer, ...(await answer.finished) };
  } finally {
    connection.close();
  }
}

/** The bytes of a well-formed request: `host`, `content-type` and `content-length` are added where they are missing. */
export function writeRequest(request: RawRequest): Buffer {
  const body = encodeBody(request.body);
  const given: readonly (readonly [string, string])[] = isPairs(request.headers)
    ? request.headers
    : Object.entries(request.headers ?? {});
  const names = new Set(given.map(([name]) => name.toLowerCase()));
  const defaults: [string, string][] = [['host', 'penstock.test']];
  if (request.body !== undefined) {
    defaults.push(['content-type', 'application/json']);
    if (!names.has('transfer-encoding')) defaults.push(['content-length', String(body.length)]);
  }
  const lines = [...defaults.filter(([name]) => !names.has(name)), ...given];
  const method = request.method ?? (request.body === undefined ? 'GET' : 'POST');
  const head = `${method} ${request.path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`;
  return Buffer.concat([Buffer.from(head, 'latin1'), body]);
}

function isPairs(headers: RawRequest['headers']): headers is readonly (readonly [string, string])[] {
  return Array.isArray(headers);
}

function encodeBody(body: RawRequest['body']): Buffer {
  if (body === undefined) return Buffer.alloc(0);
  if (typeof body === 'string') return Buffer.from(body);
  if (body instanceof Uint8Array) return Buffer.from(body);
  return Buffer.from(JSON.stringify(body));
}

/** Rejects when the connection is refused. */
export async function openRaw(target: RawTarget): Promise<RawConnection> {
  const socket = connect({
    port: target.port,
    host: target.host ?? '127.0.0.1',
    ...(target.localAddress === undefined ? {} : { localAddress: target.localAddress }),
    noDelay: true,
    allowHalfOpen: true,
  });
  await once(socket, 'connect');
  const closed = Promise.withResolvers<'fin' | 'reset' | 'self'>();
  const readings: Reading[] = [];
  let asked = 0;
  let parsing = 0;
  let ended: 'fin' | 'reset' | undefined;

  function readingAt(index: number): Reading {
    const known = readings[index];
    if (known !== undefined) return known;
    const reading = beginReading();
    readings.push(reading);
    if (ended !== undefined) reading.close(ended);
    return readingAt(index);
  }

  function feed(bytes: Buffer): void {
    for (let rest = bytes; rest.length > 0; ) {
      const reading = readingAt(parsing);
      rest = reading.feed(rest);
      if (!reading.isEnded()) return;
      parsing += 1;
    }
  }

  function end(how: 'fin' | 'reset', by: 'fin' | 'reset' | 'self'): void {
    closed.resolve(by);
    if (ended !== undefined) return;
    ended = how;
    for (const reading of readings.slice(parsing)) reading.close(how);
  }

  socket.on('data', feed);
  socket.on('end', () => end('fin', 'fin'));
  socket.on('error', () => end('reset', 'reset'));
  // Only reached first when we closed: whatever was not read by then counts as cut off.
  socket.on('close', () => end('fin', 'self'));

  return {
    socket,
    send: (bytes) =>
      new Promise((resolve, reject) => {
        socket.write(bytes, (error) => (error ? reject(error) : resolve()));
      }),
    answer: () => readingAt(asked++).answer,
    pause: () => void socket.pause(),
    resume: () => void socket.resume(),
    halfClose: () => void socket.end(),
    abort: () => void socket.resetAndDestroy(),
    close: () => void socket.destroy(),
    closed: closed.promise,
  };
}

interface Reading {
  answer: Promise<RawAnswer>;
  /** Gives back what belongs to the next answer. */
  feed(bytes: Buffer): Buffer;
  close(how: 'fin' | 'reset'): void;
  isEnded(): boolean;
}

function beginReading(): Reading {
  const answer = Promise.withResolvers<RawAnswer>();
  const finished = Promise.withResolvers<Finished>();
  // Where nobody asks for this answer, its failure concerns nobody.
  answer.promise.catch(() => {});
  const splitter = makeSseSplitter();
  const informational: Head[] = [];
  const pieces: { bytes: Buffer; atMs: number }[] = [];
  const events: SseEvent[] = [];
  let handedOut = 0;
  let isEnded = false;
  let wake = Promise.withResolvers<void>();

  function stir(): void {
    wake.resolve();
    wake = Promise.withResolvers();
  }

  async function nextEvent(): Promise<SseEvent | undefined> {
    const index = handedOut++;
    while (events.length <= index && !isEnded) await wake.promise;
    return events[index];
  }

  const parser = makeAnswerParser({
    onInformational: (head) => informational.push(head),
    onHead(head) {
      const headAtMs = performance.now();
      answer.resolve({ ...head, informational, headAtMs, nextEvent, finished: finished.promise });
    },
    onBody(bytes) {
      const atMs = performance.now();
      pieces.push({ bytes, atMs });
      events.push(...splitter.feed(bytes, atMs));
      stir();
    },
    onEnd(ending) {
      isEnded = true;
      answer.reject(new Error(`The connection ended before an answer had come: ${ending}`));
      events.push(...splitter.end(performance.now()));
      const body = Buffer.concat(pieces.map((piece) => piece.bytes));
      const text = body.toString('utf8');
      const unfinishedEvent = splitter.rest();
      const endedAtMs = performance.now();
      finished.resolve({
        ending,
        body,
        text,
        json: parseJson(text),
        events,
        unfinishedEvent,
        pieces,
        endedAtMs,
      });
      stir();
    },
  });
  return {
    answer: answer.promise,
    feed: (bytes) => parser.feed(bytes),
    close: (how) => parser.close(how),
    isEnded: () => isEnded,
  };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // A stream or a cut body; the text is there to look at.
    return undefined;
  }
}
