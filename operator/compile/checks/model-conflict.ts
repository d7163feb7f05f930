// Which routes lose a model id to an older one? The oldest keeps what it has; nothing that works is broken.

import type { Aged } from '../order.ts';
import { compareAge } from '../order.ts';
import { isShared, type SharedWith } from '../selector.ts';
import type { Finding } from '../verdict.ts';

/** What a route claims: its ids, for the callers of its own namespace and those it is shared with. */
export interface Claim extends Aged {
  readonly ids: readonly string[];
  readonly sharedWith: SharedWith;
}

export interface Conflict {
  readonly modelId: string;
  readonly winner: Claim;
}

/** The conflict of every claim that lost one. A loser claims nothing: it cannot keep others out. */
export function findModelConflicts<C extends Claim>(claims: readonly C[]): Map<C, Conflict> {
  const holders = new Map<string, C[]>();
  const lost = new Map<C, Conflict>();
  for (const claim of [...claims].sort(compareAge)) {
    const conflict = firstConflict(claim, holders);
    if (conflict !== undefined) {
      lost.set(claim, conflict);
      continue;
    }
    for (const id of claim.ids) holders.set(id, [...(holders.get(id) ?? []), claim]);
  }
  return lost;
}

function firstConflict(claim: Claim, holders: ReadonlyMap<string, readonly Claim[]>): Conflict | undefined {
  for (const modelId of claim.ids) {
    const winner = holders.get(modelId)?.find((holder) => haveCommonCallers(holder, claim));
    if (winner !== undefined) return { modelId, winner };
  }
  return undefined;
}

/**
 * In one namespace an id stands once. Across namespaces a caller's own route goes before a shared one, so
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

/** Names the winner only where the loser's namespace can see it anyway. */
export function modelConflict(loser: Claim, { modelId, winner }: Conflict): Finding {
  const who = mayKnow(loser, winner)
    ? `the older ModelRoute ${winner.namespace}/${winner.name}`
    : 'an older ModelRoute of another namespace';
  return {
    reason: 'ModelConflict',
    message: `the model id "${modelId}" is held by ${who}; create it anew with another id, or remove one of the two`,
  };
}

export function mayKnow(loser: Claim, winner: Claim): boolean {
  return winner.namespace === loser.namespace || isShared(winner.sharedWith, loser.namespace);
}
