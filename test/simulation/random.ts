// Which of all runs is this one? A stream of numbers that a seed decides, and the choices that are made with it.

export interface Random {
  /** From 0 up to 1. */
  next(): number;
  /** A whole number, both ends included. */
  between(least: number, most: number): number;
  /** True so often, from 0 to 1. */
  chance(share: number): boolean;
  pick<T>(items: readonly [T, ...T[]]): T;
  bytes(size: number): Buffer;
  /** Another stream, that what is drawn here does not move. */
  fork(): Random;
}

/** sfc32: quick, and good enough for choices. */
export function makeRandom(seed: number): Random {
  let [a, b, c, d] = [0, seed >>> 0, Math.floor(seed / 2 ** 32) >>> 0, 1];
  const step = (): number => {
    const sum = (a + b + d) | 0;
    d = (d + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (c << 21) | (c >>> 11);
    c = (c + sum) | 0;
    return sum >>> 0;
  };
  for (let turn = 0; turn < 12; turn += 1) step();
  const next = (): number => step() / 2 ** 32;
  return {
    next,
    between: (least, most) => least + Math.floor(next() * (most - least + 1)),
    chance: (share) => next() < share,
    pick: (items) => items[Math.floor(next() * items.length)] ?? items[0],
    bytes: (size) => Buffer.from(Array.from({ length: size }, () => step() & 255)),
    fork: () => makeRandom(step()),
  };
}
