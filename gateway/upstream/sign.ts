// Seat: which headers of a request follow from the request itself? Asked once for each attempt, after its body is final and right
// before it is sent: a signature over the body holds for a few minutes, and for no other attempt.

export interface UnsignedRequest {
  readonly method: 'POST';
  /** As it is dialled, with a port that is not the scheme's. */
  readonly host: string;
  /** As it is sent, encoded. */
  readonly path: string;
  /** With its `?`; empty: none. */
  readonly query: string;
  /** All but `host` and `content-length`: names in lower case and values in turn. */
  readonly headers: readonly string[];
}

/**
 * Headers to add, names and values in turn; at once, since nothing may come between it and the request.
 *
 * @param bodyParts The chunks in the order in which they are sent. They may be large: never joined, never changed.
 * @param nowMs Unix milliseconds.
 */
export type Sign = (
  request: UnsignedRequest,
  bodyParts: readonly Buffer[],
  nowMs: number,
) => readonly string[];
