// Where are the members of a body, and is all of it JSON? Nearly every body is plain: one pass over its bytes says both.

import { isUtf8 } from 'node:buffer';
import {
  closing,
  hasAboveAscii,
  mayBeginAsOurs,
  mayNameOutside,
  nameEndOf,
  scanText,
  startOf,
  structuralCharacters,
  valueEndOf,
  valueStartOf,
} from './json-scan.ts';
import { type Member, type MemberScan, structuralMax } from './scan-members.ts';
import { type ShortText, shortText } from './short-texts.ts';

interface PlainScan extends MemberScan {
  /** False: there is nothing for `namesOutsideInput` to find. */
  readonly mayNameOutside: boolean;
  /** False: no value in it begins like one that the gateway made. */
  readonly mayBeginAsOurs: boolean;
  /** It is valid JSON: one piece of UTF-8. */
  readonly isValid: boolean;
}

/** Each is compared with all others. */
const membersMax = 32;

/** @returns Undefined if it is not plain: `scanMembers` and JSON.parse say what it is. */
export function scanPlain(chunks: readonly Buffer[], bytes: number): PlainScan | undefined {
  const count = scanText(chunks);
  if (count === undefined || count === 0 || count > membersMax) return undefined;
  // Its own braces are counted here, and not there.
  if (structuralCharacters() > structuralMax(bytes)) return undefined;
  const members: Member[] = [];
  for (let child = 0; child < count; child++) {
    const start = startOf(0, child);
    const name = nameAt(chunks, start + 1, nameEndOf(0, child) - 1);
    if (name === undefined || name.text !== name.folded || has(members, name.text)) return undefined;
    members.push({
      name: name.text,
      start,
      valueStart: valueStartOf(0, child),
      valueEnd: valueEndOf(0, child),
    });
  }
  const [only] = chunks;
  return {
    members,
    closingBrace: closing(),
    mayNameOutside: mayNameOutside(),
    mayBeginAsOurs: mayBeginAsOurs(),
    isValid: chunks.length === 1 && only !== undefined && (!hasAboveAscii() || isUtf8(only)),
  };
}

/** Undefined if it is long, not plain ASCII, or not in one chunk; an entry of a list has no name, and ends before it begins. */
function nameAt(chunks: readonly Buffer[], from: number, to: number): ShortText | undefined {
  let offset = 0;
  for (const chunk of chunks) {
    if (from < offset + chunk.length)
      return to <= offset + chunk.length && to >= from
        ? shortText(chunk, from - offset, to - offset)
        : undefined;
    offset += chunk.length;
  }
  return undefined;
}

function has(members: readonly Member[], name: string): boolean {
  for (const member of members) if (member.name === name) return true;
  return false;
}
