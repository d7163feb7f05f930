// In which order would a route be gone through if nothing were known of its upstreams? The table as a drill sees it: of the route what was
// written, without what has been found out since.

import type { RouteView, TableView } from '../table/view.ts';

/**
 * The table with this route alone. No upstream is doubted, and no calls belong together: those of a drill always begin alike, and would
 * always meet the same target first.
 */
export function asWritten(view: TableView, route: RouteView): TableView {
  const { affinity: _, ...failover } = route.entry.failover;
  const written: RouteView = {
    ...route,
    entry: { ...route.entry, failover },
    targets: route.targets.map((target) => ({
      ...target,
      endpoints: target.endpoints.map((endpoint) => ({ ...endpoint, isSuspect: false })),
    })),
  };
  return {
    ...view,
    routes: [written],
    byModel: {
      own: new Map([[route.namespace, new Map([[route.entry.model, written]])]]),
      shared: new Map(),
    },
  };
}
