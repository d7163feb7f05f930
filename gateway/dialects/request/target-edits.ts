// What does a target change in the top-level members of a request that otherwise passes untouched?

import { type Edit, type RequestBody, removeMembers, setMember } from '../../json/request-body.ts';
import type { Member } from '../../json/scan-members.ts';
import type { RequestFacts, UpstreamTarget } from '../dialect.ts';

/** A member and its JSON value. */
export type DefaultMember = readonly [name: string, value: string];

/**
 * The upstream's model name, and nothing of the caller's that would choose another; the target's parameters, then the
 * defaults, where the caller gave none. A bound of the caller's stands for all that there are names for: upstreams refuse a request with two.
 *
 * @param unsent Members that are left out besides.
 */
export function targetEdits(
  body: RequestBody,
  { outputTokensMax }: Pick<RequestFacts, 'outputTokensMax'>,
  target: UpstreamTarget,
  defaults: readonly DefaultMember[] = [],
  unsent: readonly Member[] = [],
): Edit[] {
  const withheld = withheldMembers(body, target);
  const replaced = withheld.filter(({ name }) => Object.hasOwn(target.parameters, name));
  const edits = [
    setMember(body, 'model', JSON.stringify(target.upstreamModel)),
    ...removeMembers(body, [...unsent, ...withheld.filter((member) => !replaced.includes(member))]),
  ];
  if (target.forcesStream) edits.push(setMember(body, 'stream', 'true'));
  const missing: DefaultMember[] = Object.entries(target.parameters).map(([name, value]) => [
    name,
    JSON.stringify(value),
  ]);
  for (const member of defaults) {
    const [name] = member;
    if (!(name in target.parameters) && !target.refuses?.has(name)) missing.push(member);
  }
  for (const [name, value] of missing) {
    if (outputTokensMax !== undefined && boundNames.has(name)) continue;
    const isFree = isAbsent(body, name) || replaced.some((member) => member.name === name);
    if (isFree) edits.push(setMember(body, name, value));
  }
  return edits;
}

/**
 * What the caller sends to have another model than the target's, which the provider would serve and charge for: nobody
 * has said that the caller may have it, and the ledger knows the target's price alone.
 */
export function withheldMembers(
  body: RequestBody,
  { modelMembers = [] }: Pick<UpstreamTarget, 'modelMembers'>,
): readonly Member[] {
  return modelMembers.flatMap((name) => {
    const member = body.member(name);
    return member && !body.isNull(member) ? [member] : [];
  });
}

/** What dialects call the bound of an answer. */
export const boundNames: ReadonlySet<string> = new Set([
  'max_tokens',
  'max_completion_tokens',
  'max_output_tokens',
]);

function isAbsent(body: RequestBody, name: string): boolean {
  const member = body.member(name);
  return !member || body.isNull(member);
}
