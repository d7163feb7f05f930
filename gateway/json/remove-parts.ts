// How are single values taken out of a nested JSON value, with every other byte left as it is?

import { type Part, type Path, placeOf, readParts } from './read-parts.ts';
import type { Edit } from './request-body.ts';

/**
 * The edits that take the values at the paths out, their names and commas too.
 *
 * @param text Valid JSON as latin1 of its UTF-8 bytes.
 * @param paths Each leads to a value; none leads into another one's.
 * @param at Where the value begins that the paths start from.
 */
export function removeParts(text: string, paths: readonly Path[], at = 0): Edit[] {
  const parts = readParts(text, at);
  const gone = new Set<number>();
  const edits: Edit[] = [];
  // However many go the same way, it is looked for once.
  for (const [key, inside] of Map.groupBy(paths, ([step]) => step)) {
    if (key === undefined) continue;
    const place = placeOf(parts, key);
    const part = parts[place];
    if (!part) continue;
    if (inside.some(({ length }) => length === 1)) gone.add(place);
    else {
      const deeper = inside.map((path) => path.slice(1));
      for (const edit of removeParts(text, deeper, part.valueStart)) edits.push(edit);
    }
  }
  return [...cutOut(parts, gone), ...edits];
}

/** Each run of parts goes with one of the commas beside it. */
function cutOut(parts: readonly Part[], gone: ReadonlySet<number>): Edit[] {
  const edits: Edit[] = [];
  let lastKept: Part | undefined;
  for (let from = 0; from < parts.length; from++) {
    if (!gone.has(from)) {
      lastKept = parts[from];
      continue;
    }
    let to = from;
    while (gone.has(to + 1)) to++;
    const [first, last, next] = [parts[from], parts[to], parts[to + 1]];
    if (first && last) {
      if (lastKept) edits.push({ from: lastKept.end, to: last.end, text: '' });
      else edits.push({ from: first.start, to: next ? next.start : last.end, text: '' });
    }
    from = to;
  }
  return edits;
}
