// Which entries of two lists are in one of them alone? By identity: what did not change is the same value from table to table.

export interface Differing<T> {
  readonly gone: readonly T[];
  readonly added: readonly T[];
}

export function differing<T>(last: readonly T[], next: readonly T[]): Differing<T> {
  // Lists are in order, so one changed entry of fifty thousand leaves one between what is the same at both ends.
  const length = Math.min(last.length, next.length);
  let start = 0;
  while (start < length && last[start] === next[start]) start += 1;
  let end = 0;
  while (end < length - start && last[last.length - 1 - end] === next[next.length - 1 - end]) end += 1;
  const before = last.slice(start, last.length - end);
  const after = next.slice(start, next.length - end);
  const [known, present] = [new Set(before), new Set(after)];
  return {
    gone: before.filter((entry) => !present.has(entry)),
    added: after.filter((entry) => !known.has(entry)),
  };
}
