// Seat: how are the events of an upstream's stream cut out of its bytes? Dialects read server-sent events, whatever their upstream
// frames them in: a framing of another kind turns its frames into those, so that one dialect serves all framings, and clients get
// what their dialect says.

import { formOf } from '../answer/describe-body.ts';

export interface Framing {
  /** Media types in lower case, without parameters: the one to request, and those accepted in answers. */
  readonly mediaType: string;
  /** What a body begins as; undefined: too little of it has come. Only a body of events is read by a FrameReader. */
  formOf(bytes: Buffer): BodyForm | undefined;
  /** A fresh reader of one body; absent: it is server-sent events already. */
  readonly open?: () => FrameReader;
}

/** `json`: an answer in one piece, or an error. */
export type BodyForm = 'events' | 'json' | 'other';

export interface FrameReader {
  /**
   * The server-sent events of all frames that have ended, each with its blank line; empty: none has. A frame that says an error
   * is an event `error` whose data the dialect reads as one.
   */
  push(bytes: Buffer): Buffer;
  /** Kept of a frame that has not ended. Where the body ends, it is cut. */
  readonly pendingBytes: number;
  /** Why nothing more can be read; undefined: it can. */
  readonly flaw: string | undefined;
}

export const serverSentEvents: Framing = { mediaType: 'text/event-stream', formOf };

/** The server-sent events of a whole body, or its fault. */
export function readFrames(
  { open }: Framing,
  body: Buffer,
): { readonly ok: true; readonly events: Buffer } | { readonly ok: false; readonly flaw: string } {
  if (open === undefined) return { ok: true, events: body };
  const reader = open();
  const events = reader.push(body);
  const flaw = reader.flaw ?? (reader.pendingBytes > 0 ? 'it ends in the middle of a frame' : undefined);
  return flaw === undefined ? { ok: true, events } : { ok: false, flaw };
}
