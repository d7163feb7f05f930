// How are single values put in the place of others in a nested JSON value, with every other byte
// left as it is?

import { type Path, placeOf, readParts } from './read-parts.ts';
import type { Edit } from './request-body.ts';

export interface Replacement {
  readonly path: Path;
  /** JSON text. */
  readonly text: string;
}

/** The text with the replacements made; parameters as in `replaceValues`. */
export function withReplaced(text: string, replacements: readonly Replacement[], at = 0): string {
  const edits = replaceValues(text, replacements, at).toSorted((a, b) => a.from - b.from);
  let replaced = '';
  let done = 0;
  for (const { from, to, text: put } of edits) {
    replaced += text.slice(done, from) + put;
    done = to;
  }
  return replaced + text.slice(done);
}

/**
 * The edits that put the texts in the place of the values at the paths.
 *
 * @param text Valid JSON as latin1 of its UTF-8 bytes.
 * @param replacements Each path leads to a value; none leads into another one's.
 * @param at Where the value begins that the paths start from.
 */
export function replaceValues(text: string, replacements: readonly Replacement[], at = 0): Edit[] {
  const parts = readParts(text, at);
  const edits: Edit[] = [];
  // However many go the same way, it is looked for once.
  for (const [key, inside] of Map.groupBy(replacements, ({ path: [step] }) => step)) {
    const part = key === undefined ? undefined : parts[placeOf(parts, key)];
    if (!part) continue;
    const here = inside.find(({ path }) => path.length === 1);
    if (here) edits.push({ from: part.valueStart, to: part.end, text: here.text });
    else {
      const deeper = inside.map(({ path, text: put }) => ({ path: path.slice(1), text: put }));
      for (const edit of replaceValues(text, deeper, part.valueStart)) edits.push(edit);
    }
  }
  return edits;
}
