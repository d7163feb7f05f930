// The order of entries in the table. It depends only on the entries.

/** By UTF-16 code unit: the same on every machine, whatever its locale. */
export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

export interface Place {
  readonly namespace: string;
  readonly name: string;
}

export interface Aged extends Place {
  /** RFC 3339 in UTC, or '' where no API server has stored the object yet: that counts as oldest. */
  readonly createdAt: string;
}

/** Oldest first, then by namespace and name: the first one keeps an id that two objects claim. */
export function compareAge(a: Aged, b: Aged): number {
  return compareText(a.createdAt, b.createdAt) || comparePlace(a, b);
}

export function comparePlace(a: Place, b: Place): number {
  return compareText(a.namespace, b.namespace) || compareText(a.name, b.name);
}

/** A copy with sorted members, so that equal maps give equal bytes. */
export function sortedMap<T>(map: Readonly<Record<string, T>>): Record<string, T> {
  return Object.fromEntries(Object.entries(map).sort(([a], [b]) => compareText(a, b)));
}
