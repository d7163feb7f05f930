// To what does a comment belong? Lines of comment behind a value that are no deeper than its name are about what follows, wherever the
// parser puts them: those behind a list that is written as deep as its name, or behind a name without a value, are to it the value's own.

import { type Document, isMap, isNode, type Node, visit, type YAMLMap, type YAMLSeq } from 'yaml';

/** Moves them out of the value, to what comes next or to the end of the parent of the value. */
export function placeComments(document: Document, source: string): void {
  // The innermost first: what follows it may also follow its parent.
  const collections: (YAMLMap | YAMLSeq)[] = [];
  visit(document, { Collection: (_, node) => void collections.unshift(node) });
  for (const collection of collections) {
    if (collection.flow || !collection.range) continue;
    const column = columnOf(source, collection.range[0]);
    for (const [at, item] of collection.items.entries()) {
      const value = isMap(collection) ? collection.items[at]?.value : item;
      if (!isNode(value)) continue;
      const behind = takeBehind(value, countBehind(source, value, column));
      if (behind === undefined) continue;
      const next = isMap(collection) ? collection.items[at + 1]?.key : collection.items[at + 1];
      if (isNode(next)) next.commentBefore = joined(behind, next.commentBefore);
      else collection.comment = joined(behind, collection.comment);
    }
  }
}

const columnOf = (source: string, offset: number): number =>
  offset - (source.lastIndexOf('\n', offset - 1) + 1);

/** How many lines of comment the parser took into the value that are no deeper than that column? */
function countBehind(source: string, { range }: Node, column: number): number {
  const [, ...lines] = range ? source.slice(range[0], range[2]).split('\n') : [];
  const end = lines.slice(lines.findLastIndex((line) => !/^\s*(#|$)/.test(line)) + 1);
  const first = end.findIndex((line) => line.includes('#') && line.indexOf('#') <= column);
  return first === -1 ? 0 : end.slice(first).filter((line) => line.includes('#')).length;
}

/** The last lines of the comment behind a value, blank ones not counted; they are its own no longer. */
function takeBehind(value: Node, count: number): string | undefined {
  if (count === 0 || !value.comment) return undefined;
  const lines = value.comment.split('\n');
  const written = [...lines.entries()].filter(([, line]) => line !== '');
  const [first = 0] = written.at(-count) ?? [];
  value.comment = lines.slice(0, first).join('\n').trimEnd() || null;
  return lines.slice(first).join('\n');
}

const joined = (first: string, second: string | null | undefined): string =>
  second ? `${first}\n${second}` : first;
