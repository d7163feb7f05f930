// Which texts of a JSON body are the bytes of a picture, a sound or a file? A model does not read them as words, so a token count by their
// length would be a hundred times too high. Pure.

import { isAscii } from 'node:buffer';

/** Between its quotes; offsets count bytes over all chunks. */
interface MediaText {
  readonly from: number;
  readonly to: number;
  /** A document, as far as its member and its head say: it is as long as its pages are many. */
  readonly isDocument: boolean;
}

type Range = Pick<MediaText, 'from' | 'to'>;

/** Shorter ones are hardly worth telling apart: a thousand tokens, about what a picture costs. */
export const mediaTextBytesMin = 4 * 1024;
const headBytes = 256;
/** Room for the longest name, its quotes and colon, and some blanks. */
const nameBytes = 48;

/**
 * A text counts as media if its member holds media in one of the dialects, its head looks like base64, and it has neither a blank nor a
 * character beyond ASCII. It is not decoded: an ASCII text without blanks in such a member counts as media too, though a provider that
 * finds text there counts its words.
 *
 * @param chunks A valid JSON text in any cut.
 */
export function* mediaTexts(chunks: readonly Buffer[]): Generator<MediaText> {
  /** Behind the newest quote that matters: all texts before it were too short. */
  let from = 0;
  let offset = 0;
  for (const [index, chunk] of chunks.entries()) {
    for (let at = 0; at < chunk.length; ) {
      // A quote in the next bytes, and what began before it is too short: only the last of them is looked for.
      const windowEnd = Math.min(chunk.length, from + mediaTextBytesMin - offset);
      if (at < windowEnd) {
        const last = chunk.subarray(at, windowEnd).lastIndexOf(quote);
        at = last === -1 ? windowEnd : at + last + 1;
        if (last !== -1) from = offset + at;
        continue;
      }
      const end = chunk.indexOf(quote, at);
      if (end === -1) break;
      const media = mediaAt({ from, to: offset + end }, (part) => piecesOf(part, chunks, index, offset));
      if (media !== undefined) yield media;
      at = end + 1;
      from = offset + at;
    }
    offset += chunk.length;
  }
}

const quote = 0x22;
const blank = 0x20;

function mediaAt({ from, to }: Range, read: (part: Range) => readonly Buffer[]): MediaText | undefined {
  const before = textOf(read({ from: Math.max(0, from - nameBytes), to: from }));
  const [, member] = mediaMember.exec(before) ?? [];
  if (member === undefined) return undefined;
  const head = textOf(read({ from, to: from + headBytes }));
  if (!looksLikeBase64(head)) return undefined;
  if (!read({ from, to }).every((piece) => isAscii(piece) && !piece.includes(blank))) return undefined;
  return { from, to, isDocument: member === 'file_data' || pdfHead.test(head) };
}

/** `%PDF-`, perhaps in a data URL. */
const pdfHead = /^(?:data:[^,]{1,200},)?JVBERi0/;

/** Precedes the first byte of media: in chat, messages and responses, and in what other servers add to chat. */
const mediaMember = /"(url|data|file_data|image_url|audio_url|video_url|result)"[ \t\r\n]*:[ \t\r\n]*"$/;

/**
 * Whether a text, as it is written in JSON, begins like base64, perhaps in a data URL. Some write a slash, a plus or an equals sign
 * escaped, and lines of 76 letters.
 *
 * @param head At most a few hundred characters; an escape at its end may be cut.
 */
export function looksLikeBase64(head: string): boolean {
  return base64Head.test(head);
}

/** Each character fits one alternative alone, so that it takes time by its length. */
const base64Head =
  /^(?:data:[^,]{1,200},)?(?:[A-Za-z0-9+/=_-]|\\[/nr]|\\u00(?:2[BbFf]|3[Dd]))+(?:\\(?:u[0-9A-Fa-f]{0,3})?)?$/;

function textOf(pieces: readonly Buffer[]): string {
  return Buffer.concat(pieces).toString('latin1');
}

/** Of a part that ends in the chunk `index` at the latest, which begins at `offset`: found from there back, so that it costs its own length. */
function piecesOf(
  { from, to }: Range,
  chunks: readonly Buffer[],
  index: number,
  offset: number,
): readonly Buffer[] {
  const pieces: Buffer[] = [];
  let start = offset;
  for (let at = index; ; at--) {
    const chunk = chunks[at];
    if (chunk && start < to) pieces.push(chunk.subarray(Math.max(0, from - start), to - start));
    if (start <= from) return pieces.reverse();
    start -= chunks[at - 1]?.length ?? 0;
  }
}
