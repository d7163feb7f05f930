// Which routes lose a model id, found by looking at all who ask for it? As it is meant, one pair after the other: right for few, and slow
// for many.

import type { Claim, Conflict, Served } from '../../../operator/compile/checks/model-conflict.ts';
import { compareAge } from '../../../operator/compile/order.ts';
import { narrowed } from '../../../operator/compile/selector.ts';

export function findConflictsSimply<C extends Claim>(
  claims: readonly C[],
  servedBy: (claim: C) => Served | undefined = () => undefined,
): Map<C, Conflict> {
  const byAge = [...claims].sort(compareAge);
  const claimants = new Map<string, C[]>();
  for (const claim of byAge) {
    for (const id of claim.ids) claimants.set(id, [...(claimants.get(id) ?? []), claim]);
  }
  const lost = new Map<C, Conflict>();
  for (const claim of byAge) {
    const conflict = firstConflict(
      claim,
      claimants,
      'service',
      (rival, modelId) =>
        // Where both serve it, the table in use is older than what made them meet, and age decides.
        keeps(rival, claim, modelId) && !keeps(claim, rival, modelId),
    );
    if (conflict !== undefined) lost.set(claim, conflict);
  }
  const holders = new Map<string, C[]>();
  for (const claim of byAge) {
    if (lost.has(claim)) continue;
    const conflict = firstConflict(claim, holders, 'age', (holder) => haveCommonCallers(holder, claim));
    if (conflict !== undefined) {
      lost.set(claim, conflict);
      continue;
    }
    for (const id of claim.ids) holders.set(id, [...(holders.get(id) ?? []), claim]);
  }
  return lost;

  /** Whether one serves the id already to callers whom the other one wants to serve, and goes on wanting to. */
  function keeps(one: C, other: C, id: string): boolean {
    const served = one === other ? undefined : servedBy(one);
    if (served === undefined || !served.ids.includes(id)) return false;
    return haveCommonCallers({ ...one, sharedWith: narrowed(served.sharedWith, one.sharedWith) }, other);
  }
}

function firstConflict<C extends Claim>(
  claim: C,
  rivals: ReadonlyMap<string, readonly C[]>,
  by: Conflict['by'],
  isBeatenBy: (rival: C, modelId: string) => boolean,
): Conflict | undefined {
  for (const modelId of claim.ids) {
    const winner = rivals.get(modelId)?.find((rival) => isBeatenBy(rival, modelId));
    if (winner !== undefined) return { modelId, winner, by };
  }
  return undefined;
}

/**
 * In one namespace an id is once. Across namespaces a caller's own route goes before a shared one, so
 * only third namespaces, which see both as foreign, would have to choose.
 */
function haveCommonCallers(a: Claim, b: Claim): boolean {
  if (a.namespace === b.namespace) return true;
  const isThird = (namespace: string) => namespace !== a.namespace && namespace !== b.namespace;
  if (a.sharedWith === '*') return b.sharedWith === '*' || b.sharedWith.some(isThird);
  if (b.sharedWith === '*') return a.sharedWith.some(isThird);
  const shared = b.sharedWith;
  return a.sharedWith.some((namespace) => isThird(namespace) && shared.includes(namespace));
}
