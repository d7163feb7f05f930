// What if a client does not read its answer? The connection is closed if the client reads nothing for too long, or so little that it
// would hold the answer for ever. Here only for answers that are written to their end; stream/client-stream.ts watches open streams.

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
