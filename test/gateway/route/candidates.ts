// What are the candidates of a route? Taken from a real table view, so that they are what the gateway works with.

import type { RoutingTable } from '../../../core/contract/routing-table.ts';
import { type Candidate, selectTargets } from '../../../gateway/route/plan.ts';
import { buildTableView, type RouteView } from '../../../gateway/table/view.ts';
import { type RigTarget, tableOf } from '../rig.ts';

/** The route `m` of a rig's table. */
export function routeOf(
  targets: readonly Omit<RigTarget, 'baseUrl'>[],
  change: (table: RoutingTable) => RoutingTable = (table) => table,
): RouteView {
  const placed = targets.map((target, index) => ({
    baseUrl: `http://127.0.0.1:${9_000 + index}/v1`,
    ...target,
  }));
  const [route] = buildTableView(change(tableOf(placed))).routes;
  if (!route) throw new Error('the table has no route');
  return route;
}

export function candidatesOf(targets: readonly Omit<RigTarget, 'baseUrl'>[]): readonly Candidate[] {
  return selectTargets(routeOf(targets), ([dialect]) => dialect, { random: () => 0 }).candidates;
}

/** `target` or `target/key`. */
export function nameOf({ target, endpoint }: Candidate): string {
  return [target.entry.name, ...(endpoint.key ? [endpoint.key.name] : [])].join('/');
}
