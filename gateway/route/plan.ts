// In which order are the upstreams of a request tried? Tiers by priority, weighted inside a tier.

import type { DialectName, UpstreamDialectName } from '../../core/contract/routing-table.ts';
import type { KeyedEndpoint, RouteView, TargetView } from '../table/view.ts';
import { drawByHash, orderByDraw, orderByHash, type Weighed } from './order-tier.ts';

/** One thing an attempt can be made at: a target with one of its provider's keys. */
export interface Candidate {
  readonly target: TargetView;
  readonly endpoint: KeyedEndpoint;
  /** The dialect that will be used. */
  readonly dialect: UpstreamDialectName;
  /** It is to be asked over a connection that was not used before. */
  readonly isFresh?: boolean;
  /** Trace headers for the upstream: names and values in turn. */
  readonly traceHeaders?: readonly string[];
  /** Members that its upstream refuses where the gateway adds them. */
  readonly refuses?: ReadonlySet<string>;
}

/** Ordered candidates for one request. */
export interface Plan {
  readonly route: RouteView;
  readonly candidates: readonly Candidate[];
}

/** What this pod knows of its upstreams that decides about the order. */
interface Load {
  /** Attempts in flight at a target or with a key, by its health id. */
  inFlight(healthId: string): number;
  /** The part of its usual calls that a target is to get, from 0 to 1. */
  shareOf(target: TargetView): number;
}

const idle: Load = { inFlight: () => 0, shareOf: () => 1 };

interface Circumstances {
  /** A number from 0 (inclusive) to 1 (exclusive). */
  readonly random: () => number;
  readonly load?: Load;
  /** Calls with the same text go to the same target and key, as long as it can take them. */
  readonly affinity?: string | undefined;
}

/**
 * The plan of a route that leaves nothing to choose: one target that speaks a dialect of use, with one key. Made once for a table.
 *
 * @param speak As in `selectTargets`, of the client's dialect.
 */
export function onlyPlan(route: RouteView, client: DialectName, speak: Speak): Plan | undefined {
  const plans = onlyPlans.get(route) ?? new Map<DialectName, Plan | undefined>();
  onlyPlans.set(route, plans);
  if (plans.has(client)) return plans.get(client);
  const isOne = route.targets.length === 1 && route.targets[0]?.endpoints.length === 1;
  const plan = isOne ? selectTargets(route, speak, { random: () => 0 }) : undefined;
  plans.set(client, plan);
  return plan;
}

/** Kept as long as the table view they belong to. */
const onlyPlans = new WeakMap<RouteView, Map<DialectName, Plan | undefined>>();

type Speak = (dialects: readonly UpstreamDialectName[]) => UpstreamDialectName | undefined;

/**
 * All candidates in the order they would be tried, whatever their health. Targets and keys of
 * weight 0 are drained and left out; keys of a target follow each other by their own priority.
 *
 * @param speak Which of a target's dialects is used; undefined: none, the target is left out.
 */
export function selectTargets(
  route: RouteView,
  speak: Speak,
  { random, load = idle, affinity }: Circumstances,
): Plan {
  const usable = route.targets.flatMap((target): Choice[] => {
    const dialect = speak(target.entry.dialects);
    const isDrained =
      target.entry.weight === 0 || target.endpoints.every((endpoint) => endpoint.weight === 0);
    return dialect === undefined || isDrained ? [] : [{ target, dialect }];
  });
  const orderTier = <T>(tier: readonly T[], weigh: (item: T) => Omit<Weighed<T>, 'item'>): readonly T[] => {
    if (tier.length <= 1) return tier;
    const weighed = tier.map((item) => ({ item, ...weigh(item) }));
    const ordered = affinity === undefined ? orderByDraw(weighed, random) : orderByHash(weighed, affinity);
    return ordered.map(({ item }) => item);
  };
  const targets = slowStartersBack(
    tiersOf(usable, ({ target }) => target.entry.priority).map((tier) =>
      orderTier(tier, ({ target: { entry, healthId } }) => ({
        name: entry.name,
        weight: entry.weight,
        inFlight: load.inFlight(healthId),
      })),
    ),
    ({ target }) => {
      const share = load.shareOf(target);
      if (share >= 1) return false;
      // Shares grow: calls that belong together come back once, and then stay.
      return (affinity === undefined ? random() : drawByHash(affinity, target.entry.name)) >= share;
    },
  );
  const candidates = targets.flatMap(({ target, dialect }) =>
    tiersOf(
      target.endpoints.filter((endpoint) => endpoint.weight > 0),
      (endpoint) => endpoint.priority,
    )
      .flatMap((tier) =>
        orderTier(tier, ({ key, weight, healthId }) => ({
          name: key?.name ?? '',
          weight,
          inFlight: load.inFlight(healthId),
        })),
      )
      .map((endpoint): Candidate => ({ target, endpoint, dialect })),
  );
  return { route, candidates: candidates.some(isSuspect) ? suspectsLast(candidates) : candidates };
}

function isSuspect({ endpoint }: Candidate): boolean {
  return endpoint.isSuspect;
}

/** A doubt orders, and never takes away: what the operator sees may be another network than ours. */
function suspectsLast(candidates: readonly Candidate[]): readonly Candidate[] {
  return [...candidates.filter((candidate) => !isSuspect(candidate)), ...candidates.filter(isSuspect)];
}

interface Choice {
  readonly target: TargetView;
  readonly dialect: UpstreamDialectName;
}

/** Lower priority first. */
function tiersOf<T>(items: readonly T[], priorityOf: (item: T) => number): readonly (readonly T[])[] {
  if (items.length <= 1) return [items];
  return [...Map.groupBy(items, priorityOf)].sort(([a], [b]) => a - b).map(([, tier]) => tier);
}

/**
 * A target in slow start gets only a part of its calls. For the others it comes after its peers or, without peers, after the
 * next tier. It is never left out.
 */
function slowStartersBack<T>(
  tiers: readonly (readonly T[])[],
  standsBack: (item: T) => boolean,
): readonly T[] {
  const ordered: T[] = [];
  let back: T[] = [];
  for (const tier of tiers) {
    const isBack = tier.map(standsBack);
    const front = tier.filter((_, at) => !isBack[at]);
    ordered.push(...front);
    back.push(...tier.filter((_, at) => isBack[at]));
    if (front.length === 0) continue;
    ordered.push(...back);
    back = [];
  }
  return [...ordered, ...back];
}
