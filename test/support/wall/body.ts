// What does an answer consist from before it is framed? Pieces of body and pauses, and how to divide them at a point.

import { gzipSync } from 'node:zlib';
import type { Answer, Delay, Framing, Point } from './behaviour.ts';
import { writeSse } from './sse.ts';
import { fillAnswer, type RequestJson, type Said, sum, type Voice, type VoiceEvent } from './voice.ts';

export type Item = Piece | { type: 'wait'; delay: Delay };

export interface Piece {
  type: 'piece';
  bytes: Buffer;
  isEvent: boolean;
  isContent: boolean;
  /** Tokens that are generated with these bytes. */
  outputTokens: number;
  reportsUsage: boolean;
}

export interface Body {
  said: Said;
  isStream: boolean;
  headers: Readonly<Record<string, string>>;
  framing: Framing;
  items: readonly Item[];
  answer: Answer;
}

/** The facts of a call that a behaviour may depend on. */
export interface ScoredCall {
  /** From 1. */
  number: number;
  request: RequestJson;
  isConnectionReused: boolean;
  nowMs: number;
}

export function buildBody(answer: Answer, voice: Voice, call: ScoredCall): Body {
  const said = fillAnswer(answer, call.request, voice, call);
  const isStream = answer.mode === 'stream' || (answer.mode !== 'plain' && voice.isStreamAsked(call.request));
  const items = isStream ? streamItems(voice.events(said), answer) : [plainPiece(voice.plain(said))];
  return {
    said,
    isStream,
    headers: {
      'content-type':
        answer.contentType ?? (isStream ? 'text/event-stream; charset=utf-8' : 'application/json'),
      ...(isStream && { 'cache-control': 'no-cache' }),
      'x-request-id': `wall-request-${call.number}`,
      ...(answer.gzip === true && { 'content-encoding': 'gzip' }),
      ...answer.headers,
    },
    framing: answer.framing ?? (isStream ? 'chunked' : 'content-length'),
    items: answer.gzip === true ? [zipPieces(items)] : items,
    answer,
  };
}

function streamItems(events: readonly VoiceEvent[], answer: Answer): Item[] {
  const kept = events.filter((event) => answer.omit?.includes(event.segment) !== true);
  const firstContent = kept.findIndex((event) => event.segment === 'content');
  return kept.flatMap((event, index) => [
    ...waitItems(index === 0 ? answer.beforeFirstEvent : answer.betweenEvents),
    ...waitItems(index === firstContent ? answer.beforeFirstContent : undefined),
    eventPiece(event, index + 1, answer),
  ]);
}

function waitItems(delay: Delay | undefined): Item[] {
  return delay === undefined ? [] : [{ type: 'wait', delay }];
}

/** One SSE event; `number` (from 1) is its place in the stream. */
export function eventPiece(event: VoiceEvent, number: number, answer: Answer): Piece {
  return {
    type: 'piece',
    bytes: writeSse(event, number, answer.sse ?? {}),
    isEvent: true,
    isContent: event.segment === 'content',
    outputTokens: event.outputTokens,
    reportsUsage: event.reportsUsage,
  };
}

/** No tokens of its own: those of a plain answer count as a whole. */
function plainPiece(body: object): Piece {
  const bytes = Buffer.from(JSON.stringify(body));
  return { type: 'piece', bytes, isEvent: false, isContent: true, outputTokens: 0, reportsUsage: true };
}

function zipPieces(items: readonly Item[]): Piece {
  const pieces = items.filter((item) => item.type === 'piece');
  return {
    type: 'piece',
    bytes: gzipSync(Buffer.concat(pieces.map((piece) => piece.bytes))),
    isEvent: false,
    isContent: true,
    outputTokens: sum(pieces.map((piece) => piece.outputTokens)),
    reportsUsage: pieces.some((piece) => piece.reportsUsage),
  };
}

export function bodyLength(items: readonly Item[]): number {
  return sum(items.map((item) => (item.type === 'piece' ? item.bytes.length : 0)));
}

/** Throws a RangeError when the answer ends before the point. */
export function divideItems(body: Body, point: Exclude<Point, { wireBytes: number }>): [Item[], Item[]] {
  if ('bytes' in point) return divideAtByte(body.items, point.bytes);
  const wanted = 'events' in point ? point.events : point.contentEvents;
  if (!body.isStream) return divideAtByte(body.items, plainShare(body, wanted));
  if (wanted === 0) return [[], [...body.items]];
  let seen = 0;
  for (const [index, item] of body.items.entries()) {
    if (item.type === 'piece' && item.isEvent && ('events' in point || item.isContent)) seen += 1;
    if (seen === wanted) return [body.items.slice(0, index + 1), body.items.slice(index + 1)];
  }
  throw new RangeError(
    `The answer has ${seen} ${Object.keys(point)[0]}: nothing lies behind number ${wanted}`,
  );
}

/** The byte of a plain body that represents an event point: the same share of it, never all. */
function plainShare(body: Body, events: number): number {
  const total = Math.max(events + 1, body.said.usage.outputTokens);
  return Math.floor((bodyLength(body.items) * events) / total);
}

function divideAtByte(items: readonly Item[], bytes: number): [Item[], Item[]] {
  if (bytes > bodyLength(items)) {
    throw new RangeError(`The body has ${bodyLength(items)} bytes: nothing lies behind byte ${bytes}`);
  }
  const before: Item[] = [];
  const after: Item[] = [];
  let left = bytes;
  for (const item of items) {
    if (left <= 0) after.push(item);
    else if (item.type === 'wait' || item.bytes.length <= left) before.push(item);
    else {
      const [head, tail] = dividePiece(item, [item.bytes.subarray(0, left), item.bytes.subarray(left)]);
      if (head !== undefined) before.push(head);
      if (tail !== undefined) after.push(tail);
    }
    if (item.type === 'piece') left -= item.bytes.length;
  }
  return [before, after];
}

/** The same piece in several runs of bytes: its event, tokens and usage count with the last one. */
export function dividePiece(piece: Piece, runs: readonly Buffer[]): Piece[] {
  return runs.map((bytes, index) =>
    index === runs.length - 1
      ? { ...piece, bytes }
      : { ...piece, bytes, isEvent: false, isContent: false, outputTokens: 0, reportsUsage: false },
  );
}
