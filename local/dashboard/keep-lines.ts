// Which lines did nobody mean to change? A text that was written anew from what is in it has other spaces and blank lines than the one
// it came from; where nothing is different but those, the lines of the person who wrote it stay.

/**
 * Three texts become one, line by line.
 *
 * @param written as it stands in the file.
 * @param rewritten the same, written anew without a change.
 * @param changed written anew with the change.
 */
export function keepLines(written: string, rewritten: string, changed: string): string {
  if (written === rewritten) return changed;
  const [own, base, next] = [written, rewritten, changed].map((text) => text.split('\n'));
  return mergeLines(own ?? [], base ?? [], next ?? []).join('\n');
}

type Lines = readonly string[];

function mergeLines(own: Lines, base: Lines, next: Lines): readonly string[] {
  const inOwn = matchLines(base, own);
  const inNext = matchLines(base, next);
  const merged: string[] = [];
  let [at, ownAt, nextAt] = [0, 0, 0];
  // Lines that all three have hold the pieces between them together.
  for (let index = 0; index <= base.length; index += 1) {
    const isEnd = index === base.length;
    const ownIndex = isEnd ? own.length : inOwn[index];
    const nextIndex = isEnd ? next.length : inNext[index];
    if (ownIndex === undefined || nextIndex === undefined) continue;
    merged.push(
      ...mergePiece(own.slice(ownAt, ownIndex), base.slice(at, index), next.slice(nextAt, nextIndex)),
    );
    if (!isEnd) merged.push(base[index] ?? '');
    [at, ownAt, nextAt] = [index + 1, ownIndex + 1, nextIndex + 1];
  }
  return merged;
}

function mergePiece(own: Lines, base: Lines, next: Lines): Lines {
  if (isSame(base, next)) return own;
  if (isSame(base, own) || base.length !== own.length) return next;
  // Line for line the same but for spaces: those that did not change stay as they are written.
  const inNext = matchLines(base, next);
  const kept = [...next];
  for (const [index, place] of inNext.entries()) if (place !== undefined) kept[place] = own[index] ?? '';
  return kept;
}

function isSame(one: Lines, other: Lines): boolean {
  return one.length === other.length && one.every((line, index) => line === other[index]);
}

/** Above it pieces are taken as changed throughout: the table below would be too large. */
const cellsMax = 4_000_000;

/** For each line of the first its place in the second, in order, as many as there are; undefined: it is not there. */
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
