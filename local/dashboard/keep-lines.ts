// Which lines must stay as written? A text that is serialised again from its content differs from its source in spaces and blank lines;
// lines that differ only in those keep the form in which the user wrote them.

/**
 * Three texts become one, line by line.
 *
 * @param written as in the file.
 * @param rewritten the same, serialised again without a change.
 * @param changed serialised with the change.
 */
export function keepLines(written: string, rewritten: string, changed: string): string {
  if (written === rewritten) return changed;
  const [own, base, next] = [written, rewritten, changed].map((text) => text.split('\n'));
  return mergeLines(own ?? [], base ?? [], next ?? []).join('\n');
}

type Lines = readonly string[];
type Places = readonly (number | undefined)[];

/** The change from `base` to `next`, made in `own`. */
function mergeLines(own: Lines, base: Lines, next: Lines): Lines {
  // Lines that differ only in spaces count as equal.
  const inOwn = matchLines(base.map(withoutSpaces), own.map(withoutSpaces));
  const merged: string[] = [];
  let ownAt = 0;
  for (const hunk of hunksOf(matchLines(base, next), base.length, next.length)) {
    const { start, end, from, to } = locate(hunk, inOwn, own.length, next.length);
    if (start < ownAt) return next;
    merged.push(...own.slice(ownAt, start), ...next.slice(from, to));
    ownAt = end;
  }
  return [...merged, ...own.slice(ownAt)];
}

/** Lines of the base, up to `last`, in whose place lines of the next stand, up to `to`. */
interface Hunk {
  readonly first: number;
  readonly last: number;
  readonly from: number;
  readonly to: number;
}

function hunksOf(inNext: Places, baseLength: number, nextLength: number): readonly Hunk[] {
  const hunks: Hunk[] = [];
  let [first, from] = [0, 0];
  for (let last = 0; last <= baseLength; last += 1) {
    const to = last === baseLength ? nextLength : inNext[last];
    if (to === undefined) continue;
    if (last > first || to > from) hunks.push({ first, last, from, to });
    [first, from] = [last + 1, to + 1];
  }
  return hunks;
}

/** Where it is in one's own lines; it grows by lines that are the same in base and next until both of its ends are known. */
function locate({ first, last, from, to }: Hunk, inOwn: Places, ownLength: number, nextLength: number) {
  const after = (line: number): number | undefined => {
    if (line < 0) return 0;
    const place = inOwn[line];
    return place === undefined ? undefined : place + 1;
  };
  const at = (line: number): number | undefined => (line >= inOwn.length ? ownLength : inOwn[line]);
  if (first === last) {
    const point = after(first - 1) ?? at(first);
    if (point !== undefined) return { start: point, end: point, from, to };
  }
  let [start, end] = [at(first) ?? after(first - 1), after(last - 1) ?? at(last)];
  for (; start === undefined; start = at(first) ?? after(first - 1)) [first, from] = [first - 1, from - 1];
  for (; end === undefined; end = after(last - 1) ?? at(last))
    [last, to] = [last + 1, Math.min(to + 1, nextLength)];
  return { start, end, from: Math.max(0, from), to };
}

const withoutSpaces = (line: string): string => line.replaceAll(/\s/g, '');

/** Above it pieces are taken as changed throughout: the table below would be too large. */
const cellsMax = 4_000_000;

/** For each line of the first its position in the second, in order, as many as possible; undefined: missing there. */
function matchLines(first: Lines, second: Lines): readonly (number | undefined)[] {
  const places: (number | undefined)[] = first.map(() => undefined);
  const shorter = Math.min(first.length, second.length);
  let head = 0;
  while (head < shorter && first[head] === second[head]) places[head] = head++;
  let tail = 0;
  while (tail < shorter - head && first.at(-1 - tail) === second.at(-1 - tail)) {
    places[first.length - 1 - tail] = second.length - 1 - tail;
    tail += 1;
  }
  const rows = first.length - head - tail;
  const columns = second.length - head - tail;
  if (rows * columns > cellsMax) return places;
  // The longest common subsequence: lengths from each pair of places on, then a walk along them.
  const width = columns + 1;
  const lengths = new Uint32Array((rows + 1) * width);
  const lengthAt = (row: number, column: number): number => lengths[row * width + column] ?? 0;
  const isMatch = (row: number, column: number): boolean => first[head + row] === second[head + column];
  for (let row = rows - 1; row >= 0; row -= 1)
    for (let column = columns - 1; column >= 0; column -= 1)
      lengths[row * width + column] = isMatch(row, column)
        ? lengthAt(row + 1, column + 1) + 1
        : Math.max(lengthAt(row + 1, column), lengthAt(row, column + 1));
  for (let row = 0, column = 0; row < rows && column < columns; ) {
    if (isMatch(row, column)) places[head + row++] = head + column++;
    else if (lengthAt(row + 1, column) >= lengthAt(row, column + 1)) row += 1;
    else column += 1;
  }
  return places;
}
