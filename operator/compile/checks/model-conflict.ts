// Which routes lose a model id to another one? The route that serves an id keeps it; if none does, the oldest route gets it. So a new
// route cannot break a working one.
//
// The serving route is read from the table in use, so that the result is the same after a restart and for every leader.

import type { Aged } from '../order.ts';
import { compareAge } from '../order.ts';
import { isShared, narrowed, type SharedWith } from '../selector.ts';
import type { Finding } from '../verdict.ts';

/** What a route claims: its ids, for the callers of its namespace and of those that it is shared with. */
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

/** A route as the table in use has it. */
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
  const services = findServices(byAge, servedBy);
  const keepers = new Holders<C>();
  for (const [claim, { ids, sharedWith }] of services) {
    for (const id of ids) keepers.add(id, claim, sharedWith);
  }
  const lost = new Map<C, Conflict>();
  for (const claim of byAge) {
    const own = services.get(claim);
    const conflict = firstConflict(claim, 'service', (id) =>
      // Where both serve it, the table in use is older than what made them meet, and age decides.
      keepers.first(id, claim, (rival) => !(own?.ids.includes(id) && haveCommonCallers(own, rival))),
    );
    if (conflict !== undefined) lost.set(claim, conflict);
  }
  const holders = new Holders<C>();
  for (const claim of byAge) {
    if (lost.has(claim)) continue;
    const conflict = firstConflict(claim, 'age', (id) => holders.first(id, claim));
    if (conflict !== undefined) {
      lost.set(claim, conflict);
      continue;
    }
    for (const id of claim.ids) holders.add(id, claim, claim.sharedWith);
  }
  return lost;
}

/** What of its contested ids a claim serves already, and goes on wanting to: to these callers. */
type Service = Pick<Claim, 'namespace' | 'ids' | 'sharedWith'>;

/** Found once for each claim; in the order of the claims. */
function findServices<C extends Claim>(
  claims: readonly C[],
  servedBy: (claim: C) => Served | undefined,
): ReadonlyMap<C, Service> {
  const claimants = new Map<string, number>();
  for (const { ids } of claims) for (const id of ids) claimants.set(id, (claimants.get(id) ?? 0) + 1);
  const services = new Map<C, Service>();
  for (const claim of claims) {
    const contested = claim.ids.filter((id) => (claimants.get(id) ?? 0) > 1);
    const served = contested.length === 0 ? undefined : servedBy(claim);
    if (served === undefined) continue;
    services.set(claim, {
      namespace: claim.namespace,
      ids: contested.filter((id) => served.ids.includes(id)),
      sharedWith: narrowed(served.sharedWith, claim.sharedWith),
    });
  }
  return services;
}

interface Holder<C> extends Callers {
  readonly claim: C;
  /** The older, the less. */
  readonly age: number;
}

/**
 * The holders of each id, oldest first. Only claims that can conflict share a list: those of one namespace, of which few hold the same
 * id, and shared ones. One list of all claims of an id would take a quadratic number of steps, which one tenant could provoke.
 */
class Holders<C extends Claim> {
  private readonly byNamespace = new Map<string, Map<string, Holder<C>[]>>();
  private readonly shared = new Map<string, Holder<C>[]>();
  private age = 0;

  add(id: string, claim: C, sharedWith: SharedWith): void {
    const { namespace } = claim;
    const holder = { claim, namespace, sharedWith, age: this.age++ };
    const own = entryOf(this.byNamespace, namespace, () => new Map<string, Holder<C>[]>());
    entryOf(own, id, () => []).push(holder);
    if (sharedWith.length > 0) entryOf(this.shared, id, () => []).push(holder);
  }

  /**
   * The oldest other one that has callers in common with the claim.
   *
   * @param isMet Says the same of all of the claim's own namespace.
   */
  first(id: string, claim: C, isMet: (holder: C) => boolean = () => true): C | undefined {
    const isOther = (holder: Holder<C>): boolean => holder.claim !== claim;
    const meets = (holder: Holder<C>): boolean => haveCommonCallers(holder, claim) && isMet(holder.claim);
    // In its namespace it conflicts with all claims or with none.
    const nearest = this.byNamespace.get(claim.namespace)?.get(id)?.find(isOther);
    const own = nearest && meets(nearest) ? nearest : undefined;
    const isShared = claim.sharedWith.length > 0;
    const shared = isShared ? this.shared.get(id)?.find((one) => isOther(one) && meets(one)) : undefined;
    if (own === undefined || shared === undefined) return (own ?? shared)?.claim;
    return own.age < shared.age ? own.claim : shared.claim;
  }
}

function entryOf<V>(map: Map<string, V>, key: string, make: () => V): V {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}

function firstConflict<C extends Claim>(
  claim: C,
  by: Conflict['by'],
  winnerOf: (modelId: string) => C | undefined,
): Conflict | undefined {
  for (const modelId of claim.ids) {
    const winner = winnerOf(modelId);
    if (winner !== undefined) return { modelId, winner, by };
  }
  return undefined;
}

type Callers = Pick<Claim, 'namespace' | 'sharedWith'>;

/**
 * In one namespace an id can exist only once. Across namespaces a caller's own route takes precedence over a shared one, so only third
 * namespaces, which see both as foreign, have a conflict.
 */
function haveCommonCallers(a: Callers, b: Callers): boolean {
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
  const why = by === 'age' ? '' : ', which claimed it first';
  return {
    reason: 'ModelConflict',
    message:
      `the model id "${modelId}" belongs to ${who}${why}; spec.model cannot be edited: ` +
      'delete this ModelRoute and create it with another spec.model, or delete the other one',
  };
}

export function mayKnow(loser: Claim, winner: Claim): boolean {
  return winner.namespace === loser.namespace || isShared(winner.sharedWith, loser.namespace);
}
