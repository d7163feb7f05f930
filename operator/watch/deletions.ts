// Did the watch report a deletion, or is an object only missing? Only a reported deletion is certain.

export interface Deletions {
  seen(kind: string, id: string): void;
  /** The object is there again. */
  back(kind: string, id: string): void;
  has(kind: string, id: string): boolean;
}

/** With more deletions than this the oldest are forgotten; they have long been published. */
const deletionsMax = 100_000;

export function createDeletions(): Deletions {
  const known = new Set<string>();
  return {
    seen(kind, id) {
      const entry = `${kind} ${id}`;
      known.delete(entry);
      known.add(entry);
      if (known.size <= deletionsMax) return;
      for (const oldest of known) {
        known.delete(oldest);
        break;
      }
    },
    back: (kind, id) => void known.delete(`${kind} ${id}`),
    has: (kind, id) => known.has(`${kind} ${id}`),
  };
}
