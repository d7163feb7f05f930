// Seat: how does a body differ because of the way it travels? Asked once for each attempt, before the request is signed; a type without it
// sends what its dialect wrote. It is for what the address says already, such as the model, and never for what the caller asks.

import { RequestBody, removeMembers, setMember } from '../json/request-body.ts';
import type { UpstreamAsk } from './address.ts';

/** @param body Never changed: another attempt may send the same chunks. */
export type BodyFor = (ask: UpstreamAsk, body: readonly Buffer[]) => readonly Buffer[];

/**
 * The body with single top-level members changed, and every other byte as it was.
 *
 * @param body A JSON object that has other members than those.
 * @param removed Names of members that are taken out.
 * @param set Members that are put in, or whose values are replaced.
 */
export function withBodyMembers(
  body: readonly Buffer[],
  removed: readonly string[],
  set: Readonly<Record<string, unknown>>,
): readonly Buffer[] {
  const read = new RequestBody(body);
  const gone = removeMembers(
    read,
    removed.flatMap((name) => read.member(name) ?? []),
  );
  const put = Object.entries(set).map(([name, value]) => setMember(read, name, JSON.stringify(value)));
  return read.edited([...gone, ...put]);
}
