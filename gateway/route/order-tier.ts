// In which order are those of one tier tried? Drawn by weight and by how busy they are, or by a hash of what calls
// that belong together have in common. Pure.

import { hash } from 'node:crypto';

export interface Weighed<T> {
  readonly item: T;
  /** Identifies the item in hashes: the same in every pod and every table. */
  readonly name: string;
  /** Above 0. */
  readonly weight: number;
  /** Attempts of this pod in flight at it. */
  readonly inFlight: number;
}

/**
 * Each place by the power of two choices: two are drawn by weight, without putting back, and the one with fewer attempts
 * in flight for its weight is taken. A tie keeps the first, so that shares are exactly weighted while nothing is in flight.
 *
 * @param random From 0 (inclusive) to 1 (exclusive).
 */
export function orderByDraw<T>(items: readonly Weighed<T>[], random: () => number): readonly Weighed<T>[] {
  if (items.length <= 1) return items;
  const left = [...items];
  const ordered: Weighed<T>[] = [];
  while (left.length > 1) {
    const [first] = left.splice(drawByWeight(left, random), 1);
    if (!first) break;
    const secondAt = isBusy(first) ? drawByWeight(left, random) : 0;
    const second = left[secondAt];
    if (second && busyness(second) < busyness(first)) {
      left.splice(secondAt, 1, first);
      ordered.push(second);
    } else ordered.push(first);
  }
  return [...ordered, ...left];
}

/** If the first has nothing in flight, none is less busy: no second one is drawn. */
function isBusy({ inFlight }: Weighed<unknown>): boolean {
  return inFlight > 0;
}

function busyness({ inFlight, weight }: Weighed<unknown>): number {
  return inFlight / weight;
}

function drawByWeight(items: readonly Weighed<unknown>[], random: () => number): number {
  let point = random() * items.reduce((sum, { weight }) => sum + weight, 0);
  for (const [index, { weight }] of items.entries()) {
    point -= weight;
    if (point < 0) return index;
  }
  return items.length - 1;
}

/** Clearly overloaded: this many attempts in flight, and this much more than its fair share of all. */
const overload = { inFlightMin: 16, timesFair: 1.5 } as const;

/**
 * Weighted rendezvous hashing: the same order for the same text in every pod, shared by weight over many texts, and when
 * an item disappears only its own texts move. A clearly overloaded item comes after the others.
 */
export function orderByHash<T>(items: readonly Weighed<T>[], text: string): readonly Weighed<T>[] {
  if (items.length <= 1) return items;
  const ordered = items
    .map((one) => ({ one, score: -Math.log(unitHash(text, one.name)) / one.weight }))
    .sort((a, b) => a.score - b.score)
    .map(({ one }) => one);
  const inFlight = items.reduce((sum, one) => sum + one.inFlight, 0);
  const weight = items.reduce((sum, one) => sum + one.weight, 0);
  const isOverloaded = (one: Weighed<T>): boolean =>
    one.inFlight >= overload.inFlightMin && busyness(one) > overload.timesFair * (inFlight / weight);
  return ordered.some(isOverloaded)
    ? [...ordered.filter((one) => !isOverloaded(one)), ...ordered.filter(isOverloaded)]
    : ordered;
}

/**
 * From 0 (inclusive) to 1 (exclusive), the same for the same text in every pod; it says nothing of where `orderByHash` puts
 * the name.
 */
export function drawByHash(text: string, name: string): number {
  return unitHash(text, name, 'comes back');
}

/** Above 0, below 1. */
function unitHash(...parts: readonly string[]): number {
  const bits = Number.parseInt(hash('sha256', JSON.stringify(parts), 'hex').slice(0, 12), 16);
  return (bits + 0.5) / 2 ** 48;
}
