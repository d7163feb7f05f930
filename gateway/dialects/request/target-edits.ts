// What does a target change in the top-level members of a request that otherwise passes untouched?

import { type Edit, type RequestBody, setMember } from '../../json/request-body.ts';
import type { UpstreamTarget } from '../dialect.ts';

/** A member and its JSON value. */
export type DefaultMember = readonly [name: string, value: string];

/** The upstream's model name; the target's parameters, then the defaults, where the caller gave none. */
export function targetEdits(
  body: RequestBody,
  target: UpstreamTarget,
  defaults: readonly DefaultMember[] = [],
): Edit[] {
  const edits = [setMember(body, 'model', JSON.stringify(target.upstreamModel))];
  if (target.forcesStream) edits.push(setMember(body, 'stream', 'true'));
  const missing: DefaultMember[] = Object.entries(target.parameters).map(([name, value]) => [
    name,
    JSON.stringify(value),
  ]);
  for (const member of defaults) if (!(member[0] in target.parameters)) missing.push(member);
  for (const [name, value] of missing) {
    const other = sameLimit.get(name);
    if (isAbsent(body, name) && (other === undefined || isAbsent(body, other)))
      edits.push(setMember(body, name, value));
  }
  return edits;
}

/** Two names of one limit: upstreams refuse a request with both. */
const sameLimit: ReadonlyMap<string, string> = new Map([
  ['max_tokens', 'max_completion_tokens'],
  ['max_completion_tokens', 'max_tokens'],
]);

function isAbsent(body: RequestBody, name: string): boolean {
  const member = body.member(name);
  return !member || body.isNull(member);
}
