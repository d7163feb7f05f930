// Which parts must be notified of each new table?

import type { Limiter } from '../limits/limiter.ts';
import type { Metrics } from '../meter/metrics.ts';
import type { Health } from '../route/health.ts';
import type { TableHolder } from '../table/holder.ts';
import type { TableView } from '../table/view.ts';
import type { Credentials } from '../upstream/credentials.ts';
import type { UpstreamPools } from '../upstream/pools.ts';

interface Parts {
  readonly pools: Pick<UpstreamPools, 'adopt'>;
  readonly credentials: Pick<Credentials, 'adopt'>;
  readonly limiter: Pick<Limiter, 'expectBudgets'>;
  readonly health: Pick<Health, 'adopt'>;
  readonly metrics: Pick<Metrics, 'adopt'>;
}

/** @returns what ends it. */
export function adoptTables(
  holder: TableHolder,
  { pools, credentials, limiter, health, metrics }: Parts,
): () => void {
  const prepare = (view: TableView): void => {
    pools.adopt(view);
    credentials.adopt(view);
    if (hasBudgets(view)) limiter.expectBudgets();
  };
  const held = holder.current();
  if (held) prepare(held);
  let routes: TableView['routes'] | undefined;
  return holder.onSwap((view) => {
    prepare(view);
    // Most tables differ in keys alone, and to look through thousands of targets takes milliseconds.
    if (view.routes === routes) return;
    routes = view.routes;
    health.adopt(view);
    metrics.adopt(view);
  });
}

function hasBudgets({ keys, tenantBudgets }: Pick<TableView, 'keys' | 'tenantBudgets'>): boolean {
  return tenantBudgets.size > 0 || keys.values().some(({ budgets }) => budgets !== undefined);
}
