// What does a target change in the top-level members of a request that otherwise passes untouched?

import { type Edit, type RequestBody, removeMembers, setMember } from '../../json/request-body.ts';
import type { Member } from '../../json/scan-members.ts';
import type { RequestFacts, UpstreamTarget } from '../dialect.ts';

/** A member and its JSON value. */
export type DefaultMember = readonly [name: string, value: string];

/**
 * The upstream's model name replaces all that the caller wrote to choose a model. The target's parameters come next, then
 * the defaults for parameters that the caller left out. A bound under one name excludes its other names: upstreams refuse both.
 *
 * @param unsent Further members to leave out.
 */
export function targetEdits(
  body: RequestBody,
  { outputTokensMax }: Pick<RequestFacts, 'outputTokensMax'>,
  target: UpstreamTarget,
  defaults: readonly DefaultMember[] = [],
  unsent: readonly Member[] = [],
): Edit[] {
  const { parameters } = target;
  const withheld = withheldMembers(body, target);
  const removed = withheld.length === 0 ? unsent : [...unsent, ...withheld.filter(isNotReplaced)];
  const edits = removed.length === 0 ? [] : removeMembers(body, removed);
  edits.push(setMember(body, 'model', JSON.stringify(target.upstreamModel)));
  if (target.forcesStream) edits.push(setMember(body, 'stream', 'true'));
  for (const name in parameters) addMissing(name, JSON.stringify(parameters[name]));
  for (const [name, value] of defaults) {
    if (!(name in parameters) && !target.refuses?.has(name)) addMissing(name, value);
  }
  return edits;

  function isNotReplaced({ name }: Member): boolean {
    return !Object.hasOwn(parameters, name);
  }

  function addMissing(name: string, value: string): void {
    if (outputTokensMax !== undefined && boundNames.has(name)) return;
    const isReplaced = name in parameters && withheld.some((member) => member.name === name);
    const isFree = isReplaced || isAbsent(body, name);
    if (isFree) edits.push(setMember(body, name, value));
  }
}

/**
 * Members that name another model than the target's, which the provider would serve and charge for. The caller may have no
 * access to that model, and the ledger knows only the price of the target.
 */
export function withheldMembers(
  body: RequestBody,
  { modelMembers = none }: Pick<UpstreamTarget, 'modelMembers'>,
): readonly Member[] {
  if (modelMembers.length === 0) return none;
  return modelMembers.flatMap((name) => {
    const member = body.member(name);
    return member && !body.isNull(member) ? [member] : [];
  });
}

const none: readonly never[] = [];

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
