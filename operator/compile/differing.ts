// Which entries of two lists are in one of them alone? By identity: what did not change is the same value from table to table.

export interface Differing<T> {
  readonly gone: readonly T[];
  readonly added: readonly T[];
}

/** So far ahead is looked for where the two lists go on alike. */
const LOOK_AHEAD = 8;

/** @param last in it and in `next` no entry is there twice. */
export function differing<T>(last: readonly T[], next: readonly T[]): Differing<T> {
  // Lists are in order, so they are walked side by side; what has only moved is sorted out of the few that are left.
  const gone: T[] = [];
  const added: T[] = [];
  let from = 0;
  let to = 0;
  while (from < last.length || to < next.length) {
    if (from < last.length && last[from] === next[to]) {
      from += 1;
      to += 1;
      continue;
    }
    const [left, come] = untilAlike(last, from, next, to);
    for (const end = from + left; from < end; from += 1) pushAt(gone, last, from);
    for (const end = to + come; to < end; to += 1) pushAt(added, next, to);
  }
  if (gone.length === 0 || added.length === 0) return { gone, added };
  const [known, present] = [new Set(gone), new Set(added)];
  return {
    gone: gone.filter((entry) => !present.has(entry)),
    added: added.filter((entry) => !known.has(entry)),
  };
}

/** How many entries to pass over in either list until both go on with the same one; else one of each. */
function untilAlike<T>(
  last: readonly T[],
  from: number,
  next: readonly T[],
  to: number,
): readonly [left: number, come: number] {
  for (let ahead = 1; ahead <= LOOK_AHEAD; ahead += 1) {
    if (from + ahead < last.length && last[from + ahead] === next[to]) return [ahead, 0];
    if (to + ahead < next.length && last[from] === next[to + ahead]) return [0, ahead];
    if (from + ahead < last.length && last[from + ahead] === next[to + ahead]) return [ahead, ahead];
  }
  return [1, 1];
}

/** Beyond the end of the list there is nothing. */
function pushAt<T>(entries: T[], list: readonly T[], index: number): void {
  const entry = list[index];
  if (entry !== undefined && index < list.length) entries.push(entry);
}
