// Is there room for so many bytes of one request body? Pure. Three rules: all together stay within the bound, one caller within half of
// it, and its last part is for small bodies, so that a few large ones do not keep everybody out.

/** What the other bodies in flight take up. */
export interface OtherBodies {
  readonly bytes: number;
  /** Of them, those of the same caller. */
  readonly ofCaller: number;
}

/** Most requests are smaller than this. */
const smallBytes = 64 * 1024;

const callerShare = 1 / 2;
const largeShare = 7 / 8;

export function hasBodyRoom(bytes: number, others: OtherBodies, bytesMax: number): boolean {
  // One alone is let in whatever its size: a bound below the largest body would never take it.
  if (others.bytes === 0) return true;
  const isSmall = bytes <= smallBytes;
  if (others.bytes + bytes > bytesMax * (isSmall ? 1 : largeShare)) return false;
  return others.ofCaller === 0 || others.ofCaller + bytes <= bytesMax * callerShare;
}
