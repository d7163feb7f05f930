// What if a client does not take its answer? Whoever takes nothing of it for too long is dropped, and so is whoever takes a little now
// and then, or it would hold it for ever. A stream that goes on is looked after by itself (stream/client-stream.ts); here is what has
// been written to its end.

import type { ServerResponse } from 'node:http';
import { takenBytes } from '../stream/taken-bytes.ts';

/** An answer that was written to its end, and not yet taken. */
export interface UnreadAnswer {
  readonly taken: number;
  /** When it was seen to have taken so much. */
  readonly sinceMs: number;
  /** When it was first looked at. */
  readonly beginMs: number;
}

/** @param before What the look before has found. */
export function judgeUnread(
  response: ServerResponse,
  before: UnreadAnswer | undefined,
  now: number,
  stallMs: number,
  wholeMs: number,
): UnreadAnswer | undefined {
  const { socket } = response;
  if (!socket || !response.writableEnded || response.writableFinished) return undefined;
  const taken = takenBytes(socket);
  const beginMs = before?.beginMs ?? now;
  const sinceMs = before?.taken === taken ? before.sinceMs : now;
  if (now - sinceMs >= stallMs || now - beginMs >= wholeMs) response.destroy();
  return { taken, sinceMs, beginMs };
}
