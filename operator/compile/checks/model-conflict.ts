// Which routes lose a model id to another one? Whoever serves an id keeps it against those that come to ask for it; where nobody
// does, the oldest has it. Nothing that works is broken.
//
// Who serves what is read from the table in use, so that it is the same after a restart, and the same for every leader.

import type { Aged } from '../order.ts';
import { compareAge } from '../order.ts';
import { isShared, narrowed, type SharedWith } from '../selector.ts';
import type { Finding } from '../verdict.ts';

/** What a route claims: its ids, for the callers of its own namespace and those it is shared with. */
export interface Claim extends Aged {
  readonly ids: readonly string[];
  readonly sharedWith: SharedWith;
}

export interface Conflict {
  readonly modelId: string;
  readonly winner: Claim;
  /** What decided: the winner served the id when the loser came to ask for it, or it is older. */
  readonly by: 'service' | 'age';
}

/** What the table in use has of a route. */
export interface Served {
  readonly ids: readonly string[];
  readonly sharedWith: SharedWith;
}

/**
 * The conflict of every claim that lost one. A loser claims nothing: it cannot keep others out. But what it serves by the table
 * in use it goes on serving in its last good form, so that no other one gets that.
 *
 * @param servedBy undefined: nothing. Asked only of claims that others contest.
 */
export function findModelConflicts<C extends Claim>(
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
export function modelConflict(loser: Claim, { modelId, winner, by }: Conflict): Finding {
  const what = by === 'age' ? 'older ModelRoute' : 'ModelRoute';
  const who = mayKnow(loser, winner)
    ? `the ${what} ${winner.namespace}/${winner.name}`
    : `${by === 'age' ? 'an' : 'a'} ${what} of another namespace`;
  const why = by === 'age' ? '' : ', which served it before this one asked for it';
  return {
    reason: 'ModelConflict',
    message: `the model id "${modelId}" is held by ${who}${why}; create it anew with another id, or remove one of the two`,
  };
}

export function mayKnow(loser: Claim, winner: Claim): boolean {
  return winner.namespace === loser.namespace || isShared(winner.sharedWith, loser.namespace);
}
