// Entries that are in only one of two lists, by identity: an unchanged entry is the same value in both. If the change from one list to
// the other is known, neither is walked.

export interface Differing<T> {
  readonly gone: readonly T[];
  readonly added: readonly T[];
}

interface Origin {
  /** Weak, or each list would keep all those before it. */
  readonly last: WeakRef<readonly unknown[]>;
  readonly change: Differing<unknown>;
}

/** A short cut and nothing else: without it every answer is the same. */
const origins = new WeakMap<readonly unknown[], Origin>();

const nothing: Differing<never> = { gone: [], added: [] };

/** So far ahead is looked for where the two lists go on alike. */
const LOOK_AHEAD = 8;

/** So many are looked for one by one: a set would look into each of fifty thousand entries, where comparing them does not. */
const FEW = 16;

/** @param last in it and in `next` no entry is there twice. */
export function differing<T>(last: readonly T[], next: readonly T[]): Differing<T> {
  if (last === next) return nothing;
  const origin = origins.get(next);
  // What differs between two lists of T are values of T.
  return origin?.last.deref() === last ? (origin.change as Differing<T>) : walk(last, next);
}

/** To be called where `next` was made out of `last` by this change; neither is changed any more. Gives `next`. */
export function madeFrom<L extends readonly unknown[]>(last: L, change: Differing<L[number]>, next: L): L {
  if (last !== next) origins.set(next, { last: new WeakRef(last), change: withoutMoved(change) });
  return next;
}

/** The list after the change; additions are at the end. */
export function changed<T>(last: readonly T[], change: Differing<T>): readonly T[] {
  if (change.gone.length === 0 && change.added.length === 0) return last;
  return madeFrom(last, change, [...without(last, change.gone), ...change.added]);
}

function walk<T>(last: readonly T[], next: readonly T[]): Differing<T> {
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
  return withoutMoved({ gone, added });
}

/** An item in both lists has only moved. */
function withoutMoved<T>(change: Differing<T>): Differing<T> {
  const { gone, added } = change;
  if (gone.length === 0 || added.length === 0) return change;
  return { gone: without(gone, added), added: without(added, gone) };
}

/** The same values in the same order. */
export function isSameList(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a === b || (a.length === b.length && a.every((value, index) => Object.is(value, b[index])));
}

export function without<T>(entries: readonly T[], taken: readonly T[]): readonly T[] {
  if (taken.length === 0) return entries;
  if (taken.length > FEW) {
    const out = new Set(taken);
    return entries.filter((entry) => !out.has(entry));
  }
  const left = [...entries];
  for (const entry of taken) {
    const index = left.indexOf(entry);
    if (index >= 0) left.splice(index, 1);
  }
  return left;
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
