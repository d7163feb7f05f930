// In which order are the upstreams of a request tried? Tiers by priority, weighted inside a tier.

import type { DialectName } from '../contract/routing-table.ts';
import type { KeyedEndpoint, RouteView, TargetView } from '../table/view.ts';

/** One thing an attempt can be made at: a target with one of its provider's keys. */
export interface Candidate {
  readonly target: TargetView;
  readonly endpoint: KeyedEndpoint;
  /** The dialect it will be spoken to in. */
  readonly dialect: DialectName;
}

/** Ordered candidates for one request. */
export interface Plan {
  readonly route: RouteView;
  readonly candidates: readonly Candidate[];
}

/**
 * All candidates in the order they would be tried, whatever their health. Targets and keys of
 * weight 0 are drained and left out; keys of a target follow each other by their own priority.
 *
 * @param speak Which of a target's dialects it is spoken to in; undefined: in none, it is left out.
 * @param random A number from 0 (inclusive) to 1 (exclusive).
 */
export function selectTargets(
  route: RouteView,
  speak: (dialects: readonly DialectName[]) => DialectName | undefined,
  random: () => number,
): Plan {
  const usable = route.targets.flatMap((target): Choice[] => {
    const dialect = speak(target.entry.dialects);
    const isDrained =
      target.entry.weight === 0 || target.endpoints.every((endpoint) => endpoint.weight === 0);
    return dialect === undefined || isDrained ? [] : [{ target, dialect }];
  });
  const [only] = usable;
  const ordered =
    usable.length === 1 && only
      ? [only]
      : orderByTier(
          usable,
          ({ target }) => target.entry.priority,
          ({ target }) => target.entry.weight,
          random,
        );
  const candidates = ordered.flatMap(({ target, dialect }) =>
    orderByTier(
      target.endpoints.filter((endpoint) => endpoint.weight > 0),
      (endpoint) => endpoint.priority,
      (endpoint) => endpoint.weight,
      random,
    ).map((endpoint): Candidate => ({ target, endpoint, dialect })),
  );
  return { route, candidates: candidates.some(isDoubted) ? doubtedLast(candidates) : candidates };
}

function isDoubted({ endpoint }: Candidate): boolean {
  return endpoint.isDoubted;
}

/** A doubt orders, and never takes away: what the operator sees may be another network than ours. */
function doubtedLast(candidates: readonly Candidate[]): readonly Candidate[] {
  return [...candidates.filter((candidate) => !isDoubted(candidate)), ...candidates.filter(isDoubted)];
}

interface Choice {
  readonly target: TargetView;
  readonly dialect: DialectName;
}

/** Lower priority first; inside a priority drawn by weight, without putting back. */
function orderByTier<T>(
  items: readonly T[],
  priorityOf: (item: T) => number,
  weightOf: (item: T) => number,
  random: () => number,
): readonly T[] {
  if (items.length <= 1) return items;
  const tiers = [...new Set(items.map(priorityOf))].sort((a, b) => a - b);
  return tiers.flatMap((tier) => {
    const left = items.filter((item) => priorityOf(item) === tier);
    const ordered: T[] = [];
    while (left.length > 0) ordered.push(...left.splice(drawByWeight(left.map(weightOf), random), 1));
    return ordered;
  });
}

function drawByWeight(weights: readonly number[], random: () => number): number {
  let point = random() * weights.reduce((sum, weight) => sum + weight, 0);
  for (const [index, weight] of weights.entries()) {
    point -= weight;
    if (point < 0) return index;
  }
  return weights.length - 1;
}
