// A long JSON text to data without standing still: its long lists are cut out of it as texts of their own, at places that can only lie
// between two entries. Only native searches look at the text, so that it costs no more than to parse it at once.

import { randomUUID } from 'node:crypto';

/** Characters of one piece, and up to one entry more: to parse and check it takes one or two milliseconds. */
const pieceCharsMin = 128 * 1024;

/** The lists that grow with an installation, and how an entry begins in what an operator writes. */
const longLists = { keys: '{"sha256":"', routes: '{"id":"' } as const;
const listNames = ['keys', 'routes'] as const;

type LongList = (typeof listNames)[number];

interface CutText {
  /** Everything but the pieces. */
  readonly data: unknown;
  /** The first entries of each list, as texts of JSON lists; the last ones are in `data`. */
  readonly pieces: { readonly [name: string]: readonly string[] };
}

/**
 * Pieces and data that parse are together what the whole text holds: a quote after `},{` begins a name, because nothing but a separator
 * can follow the end of a text, and what is cut in another depth leaves a bracket too many in a piece.
 *
 * @throws {SyntaxError} if the text is not valid JSON, or is cut at the wrong place: parsed at once it says which.
 */
export function cutLists(text: string, pieceChars = pieceCharsMin): CutText {
  const pieces: Record<LongList, string[]> = { keys: [], routes: [] };
  const mark = randomUUID();
  let rest = text;
  for (const name of listNames) rest = cutList(rest, name, { mark, pieces: pieces[name], pieceChars });
  const data: unknown = JSON.parse(rest);
  for (const name of listNames) if (pieces[name].length > 0) takeMark(data, name, mark);
  return { data, pieces };
}

/** Gives the text without the pieces, and a mark in their place. */
function cutList(
  text: string,
  name: LongList,
  { mark, pieces, pieceChars }: { mark: string; pieces: string[]; pieceChars: number },
): string {
  const begin = longLists[name];
  const opening = `,"${name}":[`;
  const found = text.indexOf(opening + begin);
  if (found < 0) return text;
  const start = found + opening.length;
  const between = `},${begin}`;
  let from = start;
  for (;;) {
    const at = text.indexOf(between, from + pieceChars);
    if (at < 0) break;
    pieces.push(`[${text.slice(from, at + 1)}]`);
    from = at + 2;
  }
  return from === start ? text : `${text.slice(0, start)}"${mark}",${text.slice(from)}`;
}

/** A list of that name elsewhere in the table does not count. */
function takeMark(data: unknown, name: LongList, mark: string): void {
  const list: unknown =
    typeof data === 'object' && data !== null && name in data ? Reflect.get(data, name) : undefined;
  if (!Array.isArray(list) || list.shift() !== mark) throw new SyntaxError(`'${name}' was cut elsewhere`);
}
