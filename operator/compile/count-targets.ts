// How many targets of a route can be used, of how many?

import type { ModelRouteStatus } from '../resources/model-route.ts';

type TargetState = Pick<NonNullable<ModelRouteStatus['targets']>[number], 'state'>;

/** Nothing where none was judged. */
export function countTargets(
  targets: readonly TargetState[],
): Pick<ModelRouteStatus, 'usableTargets' | 'totalTargets'> {
  if (targets.length === 0) return {};
  const usable = targets.filter(({ state }) => state === 'Ready');
  return { usableTargets: usable.length, totalTargets: targets.length };
}
