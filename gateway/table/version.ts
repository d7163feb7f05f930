// Which of two tables is newer? A higher epoch, or in one epoch a higher generation.

import type { TableVersion } from '../../core/contract/exchange.ts';

/** Above 0 if `a` is newer, below 0 if it is older. */
export function compareVersions(a: TableVersion, b: TableVersion): number {
  return a.epoch === b.epoch ? a.generation - b.generation : a.epoch - b.epoch;
}

export function describeVersion({ epoch, generation }: TableVersion): string {
  return `of epoch ${epoch}, generation ${generation}`;
}
