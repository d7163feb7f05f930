// Which text do these few bytes hold? Names of members and models are the same in nearly every body: each is made a string once, not
// once a request.

import { foldName } from './fold-name.ts';

export interface ShortText {
  readonly text: string;
  /** As `foldName` has it. */
  readonly folded: string;
}

const bytesMax = 64;
const slotsMax = 2048;

/** The text last asked for at each place; what comes to the same place takes it over. */
const slots: ShortText[] = Array.from({ length: slotsMax }, () => ({ text: '', folded: '' }));

/** @returns Undefined if it is longer than usual, or not plain ASCII: escapes are not. */
export function shortText(bytes: Buffer, from: number, to: number): ShortText | undefined {
  const length = to - from;
  if (length > bytesMax) return undefined;
  let hash = length;
  for (let at = from; at < to; at++) {
    const byte = bytes[at] ?? 0;
    if (byte < 0x20 || byte > 0x7e || byte === 0x5c) return undefined;
    hash = (Math.imul(hash, 31) + byte) | 0;
  }
  const slot = (hash ^ (hash >>> 9)) & (slotsMax - 1);
  const known = slots[slot];
  if (known !== undefined && known.text.length === length && isAt(known.text, bytes, from)) return known;
  // As the name of a member it is the very string that a literal of these letters is, and compared as fast.
  const [text = ''] = Object.keys({ [bytes.toString('latin1', from, to)]: 0 });
  const made = { text, folded: foldName(text) };
  slots[slot] = made;
  return made;
}

function isAt(text: string, bytes: Buffer, from: number): boolean {
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) !== bytes[from + at]) return false;
  return true;
}
