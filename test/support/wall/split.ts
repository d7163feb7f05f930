// Where is a run of bytes divided? Sizes given one by one, or random ones that a seed repeats.

/** Piece sizes in bytes, used in a circle (`[1]`: byte by byte); or random sizes from 1 to `maxBytes`. */
export type Split = readonly number[] | { seed: number; maxBytes: number };

/** A stateful divider: the sizes go on from one run of bytes to the next. Throws on sizes below 1. */
export function makeSplitter(split: Split): (bytes: Buffer) => Buffer[] {
  const nextSize = sizesOf(split);
  return (bytes) => {
    const pieces: Buffer[] = [];
    for (let at = 0; at < bytes.length; ) {
      const size = nextSize();
      pieces.push(bytes.subarray(at, at + size));
      at += size;
    }
    return pieces;
  };
}

function sizesOf(split: Split): () => number {
  if ('seed' in split) {
    const random = makeRandom(split.seed);
    return () => 1 + Math.floor(random() * split.maxBytes);
  }
  if (split.length === 0 || split.some((size) => !Number.isInteger(size) || size < 1)) {
    throw new RangeError(`Split sizes must be whole numbers from 1 on, not [${split.join(', ')}]`);
  }
  let at = 0;
  return () => split[at++ % split.length] ?? 1;
}

/** Repeatable random numbers in [0, 1) (mulberry32). */
export function makeRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
