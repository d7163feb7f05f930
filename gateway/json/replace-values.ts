// How are single values put in the place of others in a nested JSON value, with every other byte
// left as it is?

import { type Path, placeOf, readParts } from './read-parts.ts';
import type { Edit } from './request-body.ts';

export interface Replacement {
  readonly path: Path;
  /** JSON text. */
  readonly text: string;
}

/** The text with the replacements made; parameters as of `replaceValues`. */
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
  const deeper = new Map<number, Replacement[]>();
  for (const { path, text: put } of replacements) {
    const [key, ...rest] = path;
    const place = key === undefined ? -1 : placeOf(parts, key);
    const part = parts[place];
    if (!part) continue;
    if (rest.length === 0) edits.push({ from: part.valueStart, to: part.end, text: put });
    else deeper.set(place, [...(deeper.get(place) ?? []), { path: rest, text: put }]);
  }
  for (const [place, inside] of deeper) {
    const part = parts[place];
    if (part) edits.push(...replaceValues(text, inside, part.valueStart));
  }
  return edits;
}
