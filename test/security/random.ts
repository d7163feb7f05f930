// Which way does a run take that looks like chance, and is the same for one seed?

import { makeRandom } from '../support/wall/split.ts';

/** A whole number from 0 to below its argument. */
export type Random = (below: number) => number;

export function createRandom(seed: number): Random {
  const next = makeRandom(seed);
  return (below) => Math.floor(next() * below);
}

export function pick<T>(random: Random, values: readonly [T, ...T[]]): T {
  return values[random(values.length)] ?? values[0];
}
