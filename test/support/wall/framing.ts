// Which bytes go over the wire for a body? Head, framing, splitting: pieces in, acts out (RFC 9112, sections 4-7).

import type { Delay, Framing } from './behaviour.ts';
import { type Body, bodyLength, dividePiece, type Item, type Piece } from './body.ts';
import { makeSplitter, type Split } from './split.ts';
import { sum } from './voice.ts';

export type Act =
  | WriteAct
  | { type: 'wait'; delay: Delay }
  /** Silence until the caller leaves; with comments at an interval if asked for. */
  | { type: 'hang'; ping?: { everyMs: number; bytes: Buffer } }
  /** The message is complete; `connection` says what becomes of the connection. */
  | { type: 'complete'; connection: 'keep' | 'fin' | 'reset' }
  | { type: 'break'; how: 'fin' | 'reset' };

export interface WriteAct {
  type: 'write';
  bytes: Buffer;
  /** Body bytes among them, without framing. */
  bodyBytes: number;
  /** SSE events that are complete with these bytes. */
  events: number;
  outputTokens: number;
  reportsUsage: boolean;
}

export interface FrameOptions {
  /** False: the end of the body is not marked, because the answer breaks off. */
  isEnded: boolean;
  /** The content-length to promise, when it differs from what is sent. */
  lengthBytes?: number;
}

const lastChunk = Buffer.from('0\r\n\r\n');

export function frameBody(body: Body, options: FrameOptions): Act[] {
  const { answer, framing } = body;
  const acts: Act[] = [
    ...(answer.beforeHeaders === undefined ? [] : [{ type: 'wait', delay: answer.beforeHeaders } as const]),
    writeAct(writeHead(200, headersOf(body, options))),
    ...divideBody(body).map((item) => (item.type === 'wait' ? item : pieceAct(item, framing))),
    ...(framing === 'chunked' && options.isEnded ? [writeAct(lastChunk)] : []),
  ];
  return splitWire(acts, answer.split?.wire);
}

function headersOf(body: Body, options: FrameOptions): Record<string, string> {
  const length = options.lengthBytes ?? bodyLength(body.items);
  const isClosing = body.framing === 'close' || body.answer.afterwards === 'close';
  return {
    ...body.headers,
    ...(body.framing === 'chunked' && { 'transfer-encoding': 'chunked' }),
    ...(body.framing === 'content-length' && { 'content-length': String(length) }),
    ...(isClosing && { connection: 'close' }),
  };
}

function divideBody(body: Body): readonly Item[] {
  const { trickle, split } = body.answer;
  const sizes = trickle === undefined ? split?.body : [trickle.bytes];
  if (sizes === undefined) return body.items;
  const divide = makeSplitter(sizes);
  const pause: Item[] = trickle === undefined ? [] : [{ type: 'wait', delay: { ms: trickle.everyMs } }];
  return body.items.flatMap((item) =>
    item.type === 'wait' ? [item] : dividePiece(item, divide(item.bytes)).flatMap((part) => [...pause, part]),
  );
}

function pieceAct(piece: Piece, framing: Framing): WriteAct {
  return {
    type: 'write',
    bytes: frameBytes(piece.bytes, framing),
    bodyBytes: piece.bytes.length,
    events: piece.isEvent ? 1 : 0,
    outputTokens: piece.outputTokens,
    reportsUsage: piece.reportsUsage,
  };
}

/** One HTTP chunk, or the bytes as they are. An empty run writes nothing: an empty chunk would be the last one. */
export function frameBytes(bytes: Buffer, framing: Framing): Buffer {
  if (framing !== 'chunked' || bytes.length === 0) return bytes;
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]);
}

function splitWire(acts: readonly Act[], split: Split | undefined): Act[] {
  if (split === undefined) return [...acts];
  const divide = makeSplitter(split);
  return acts.flatMap((act): Act[] => {
    if (act.type !== 'write') return [act];
    const runs = divide(act.bytes);
    return runs.map((bytes, index) => (index === runs.length - 1 ? { ...act, bytes } : writeAct(bytes)));
  });
}

/** Throws a RangeError when there are no bytes behind the point: then nothing would be cut. */
export function divideActs(acts: readonly Act[], wireBytes: number): [Act[], Act[]] {
  const total = sum(acts.map(wireLength));
  if (wireBytes >= total) {
    throw new RangeError(`The answer has ${total} bytes on the wire: nothing lies behind byte ${wireBytes}`);
  }
  const before: Act[] = [];
  const after: Act[] = [];
  let left = wireBytes;
  for (const act of acts) {
    const length = wireLength(act);
    if (left <= 0) after.push(act);
    else if (act.type !== 'write' || length <= left) before.push(act);
    else {
      before.push(writeAct(act.bytes.subarray(0, left)));
      after.push({ ...act, bytes: act.bytes.subarray(left) });
    }
    left -= length;
  }
  return [before, after];
}

function wireLength(act: Act): number {
  return act.type === 'write' ? act.bytes.length : 0;
}

/** A status line and headers, up to and with the empty line. */
export function writeHead(status: number, headers: Readonly<Record<string, string>>): Buffer {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`HTTP/1.1 ${status} ${reasonOf(status)}\r\n${lines.join('')}\r\n`, 'latin1');
}

function reasonOf(status: number): string {
  if (status < 200) return 'Early';
  if (status < 300) return 'OK';
  if (status < 400) return 'Elsewhere';
  return status < 500 ? 'Not Like This' : 'Out Of Order';
}

/** Bytes that belong to no body. */
export function writeAct(bytes: Buffer): WriteAct {
  return { type: 'write', bytes, bodyBytes: 0, events: 0, outputTokens: 0, reportsUsage: false };
}
