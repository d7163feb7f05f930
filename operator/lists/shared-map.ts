// A persistent map for tens of thousands of entries: versions share what did not change, so the difference of two versions is found
// quickly.

export interface SharedMap<V> {
  readonly size: number;
  /** Two states that hold the same value here hold the same entries in it. */
  readonly parts: readonly (ReadonlyMap<string, V> | undefined)[];
  get(key: string): V | undefined;
  has(key: string): boolean;
  /** In no order. */
  entries(): Iterable<readonly [key: string, value: V]>;
  /** Leaves this map as it is. @param changes new values by key; undefined removes the key. */
  with(changes: Iterable<readonly [key: string, value: V | undefined]>): SharedMap<V>;
}

/** Of fifty thousand entries, a change of one copies fifty. */
const PARTS = 1_024;
const noParts: readonly undefined[] = Array.from({ length: PARTS }, () => undefined);

export function emptyMap<V>(): SharedMap<V> {
  return mapOf<V>(noParts, 0);
}

/** The keys under which two states hold different values, by identity. */
export function keysUnlike<V>(a: SharedMap<V>, b: SharedMap<V>): string[] {
  const unlike: string[] = [];
  for (let index = 0; index < PARTS; index += 1) {
    const [ofA, ofB] = [a.parts[index], b.parts[index]];
    if (ofA === ofB) continue;
    for (const key of new Set([...(ofA?.keys() ?? []), ...(ofB?.keys() ?? [])])) {
      if (ofA?.get(key) !== ofB?.get(key)) unlike.push(key);
    }
  }
  return unlike;
}

function mapOf<V>(parts: SharedMap<V>['parts'], size: number): SharedMap<V> {
  const find = (key: string) => parts[partOf(key)];
  return {
    size,
    parts,
    get: (key) => find(key)?.get(key),
    has: (key) => find(key)?.has(key) ?? false,
    *entries() {
      for (const part of parts) if (part !== undefined) yield* part;
    },
    with(changes) {
      const next = parts.slice();
      const copies = new Map<number, Map<string, V>>();
      let nextSize = size;
      for (const [key, value] of changes) {
        const index = partOf(key);
        if (next[index]?.get(key) === value) continue;
        const copy = copies.get(index) ?? new Map(parts[index]);
        copies.set(index, copy);
        next[index] = copy;
        nextSize -= copy.size;
        if (value === undefined) copy.delete(key);
        else copy.set(key, value);
        nextSize += copy.size;
      }
      return copies.size === 0 ? mapOf(parts, size) : mapOf(next, nextSize);
    },
  };
}

/** FNV-1a: spreads names that are alike. */
function partOf(key: string): number {
  let sum = 0x811c9dc5;
  for (let index = 0; index < key.length; index += 1) {
    sum = Math.imul(sum ^ key.charCodeAt(index), 0x01000193);
  }
  return (sum ^ (sum >>> 16)) & (PARTS - 1);
}
