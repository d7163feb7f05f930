// Where are the members of a small body, and is all of it valid? Nearly every body is plain: one walk over its bytes says both.

import { isUtf8 } from 'node:buffer';
import { JsonWalk, OPEN_BRACE } from './json-walk.ts';
import type { Member, MemberScan } from './scan-members.ts';

interface PlainScan extends MemberScan {
  /** See `JsonWalk`. */
  readonly mayNameOutside: boolean;
}

/** Each is compared with all others. */
const membersMax = 32;

/** @returns Undefined if it is not plain: `scanMembers` and JSON.parse say what it is. */
export function scanPlain(bytes: Buffer): PlainScan | undefined {
  const walk = new JsonWalk(bytes);
  const members: Member[] = [];
  walk.space();
  if (!walk.enter(OPEN_BRACE)) return undefined;
  do {
    const start = walk.at;
    const name = walk.shortName();
    if (name === undefined || name.text !== name.folded || has(members, name.text)) return undefined;
    const valueStart = walk.at;
    if (!walk.value()) return undefined;
    members.push({ name: name.text, start, valueStart, valueEnd: walk.at });
    if (members.length > membersMax) return undefined;
  } while (walk.hasNext());
  const closingBrace = walk.at;
  if (!walk.leave(OPEN_BRACE)) return undefined;
  walk.space();
  if (!walk.isAtEnd || !isUtf8(bytes)) return undefined;
  return { members, closingBrace, mayNameOutside: walk.mayNameOutside };
}

function has(members: readonly Member[], name: string): boolean {
  for (const member of members) if (member.name === name) return true;
  return false;
}
