// Is there room for this many bytes of one request body? Pure. Three rules: all together stay within the bound, one caller within half of
// it, and its last part is for small bodies, so that a few large ones do not keep everybody out.

/** Memory held by the other bodies in flight. */
interface OtherBodies {
  readonly bytes: number;
  /** The part of the same caller. */
  readonly ofCaller: number;
  /** The part that is copies of bodies. */
  readonly copies: number;
}

/** Most requests are smaller than this. */
const smallBytes = 64 * 1024;

const callerShare = 1 / 2;
const largeShare = 7 / 8;

/**
 * @param others Bytes of all other bodies.
 * @param ofCaller Of them, those of the same caller.
 */
export function hasBodyRoom(bytes: number, others: number, ofCaller: number, bytesMax: number): boolean {
  // A single body is admitted at any size: a bound below the largest body would never admit it.
  if (others === 0) return true;
  const isSmall = bytes <= smallBytes;
  if (others + bytes > bytesMax * (isSmall ? 1 : largeShare)) return false;
  return ofCaller === 0 || ofCaller + bytes <= bytesMax * callerShare;
}

/**
 * Whether a copy of a body that has come finds room beside it: as one more body of its caller, so that several copies together stay
 * within the caller's half. The first one may also count as one with its body, which would never be served otherwise where the bound is low.
 * The only copy of all is always made: bodies that fill the bound would refuse each other's copies, and none of them would be served.
 *
 * @param own Of the body, and the copies that are there.
 */
export function hasCopyRoom(
  bytes: number,
  own: { readonly body: number; readonly copies: number },
  others: OtherBodies,
  bytesMax: number,
): boolean {
  if (own.copies + others.copies === 0) return true;
  const ownBytes = own.body + own.copies;
  if (hasBodyRoom(bytes, others.bytes + ownBytes, others.ofCaller + ownBytes, bytesMax)) return true;
  return own.copies === 0 && hasBodyRoom(ownBytes + bytes, others.bytes, others.ofCaller, bytesMax);
}
