// Which parts of the gateway are measured, and what switches each of them on? Data, and two pure functions.

import { parseRoutingTable, type RoutingTable } from '../../../core/contract/routing-table.ts';
import { wideLimits } from '../targets/gateway.ts';

export type Feature =
  /** Requests a minute, tokens a minute and concurrency of ApiKey, ModelRoute, Provider and provider key. */
  | 'limits'
  /** They are kept in a Valkey or Redis. */
  | 'limit-store'
  /** Of the ApiKey and of its namespace. */
  | 'budgets'
  /** Records are written; else they are made and thrown away. */
  | 'journal'
  /** A ledger pulls them. */
  | 'ledger'
  /** Requests and attempts are counted. */
  | 'metrics'
  /** What is counted is scraped, and pushed over OTLP. */
  | 'collection'
  /** One request in a hundred is traced, over OTLP. */
  | 'traces';

export type Part = { name: string; title: string; features: readonly Feature[] };

/** Baselines of all parts: two equal processes, so that the page shows the noise. */
export const baseNames: readonly string[] = ['off', 'off, again'];

export const parts: readonly Part[] = [
  { name: 'off', title: 'none of what follows', features: [] },
  {
    name: 'off, again',
    title: 'the same in another process: how far two that are alike differ',
    features: [],
  },
  {
    name: 'limits',
    title: 'three limits each of ApiKey, ModelRoute, Provider and provider key, kept in the process',
    features: ['limits'],
  },
  {
    name: 'limits, store',
    title: 'the same limits, kept in a store for all gateways',
    features: ['limits', 'limit-store'],
  },
  {
    name: 'budgets',
    title: 'two budgets of the ApiKey and one of its namespace, kept in the process',
    features: ['budgets'],
  },
  { name: 'ledger, written', title: 'a record of each attempt in the journal', features: ['journal'] },
  {
    name: 'ledger, pulled',
    title: 'the same, and a ledger process pulls the journal into SQLite',
    features: ['journal', 'ledger'],
  },
  { name: 'metrics', title: 'requests and attempts are counted', features: ['metrics'] },
  {
    name: 'metrics, collected',
    title: 'the same, scraped every second, and pushed over OTLP every second',
    features: ['metrics', 'collection'],
  },
  { name: 'traces', title: '1 % of the requests traced, sent over OTLP', features: ['traces'] },
  {
    name: 'all',
    title: 'all of it, limits and budgets kept in the process',
    features: ['limits', 'budgets', 'journal', 'ledger', 'metrics', 'collection', 'traces'],
  },
];

/** Far from any that the load could reach. */
const wideBudget = { limitMicrodollars: 1_000_000_000_000 };

/**
 * The benchmark's table with what these features need in it: limits of everything that may have some, budgets of the key that is used,
 * which is the first, and of its namespace.
 */
export function tableWith(table: RoutingTable, features: readonly Feature[]): RoutingTable {
  const limits = features.includes('limits') ? { limits: wideLimits } : {};
  const hasBudgets = features.includes('budgets');
  const budgets = hasBudgets
    ? {
        budgets: [
          { period: 'Day', ...wideBudget },
          { period: 'Month', ...wideBudget },
        ],
      }
    : {};
  const [used, ...others] = table.keys;
  const namespace = used?.id.split('/')[0];
  return parseRoutingTable({
    ...table,
    settings: {
      ...table.settings,
      ...(hasBudgets
        ? { tenantBudgets: [{ namespace, budgets: [{ period: 'Month', ...wideBudget }] }] }
        : {}),
    },
    providers: table.providers.map((provider) => ({
      ...provider,
      ...limits,
      keys: provider.keys.map((key) => ({ ...key, ...limits })),
    })),
    routes: table.routes.map((route) => ({ ...route, ...limits })),
    keys: [{ ...used, ...limits, ...budgets }, ...others],
  });
}

/** Where the other ends of the features are. */
type Surroundings = { limitStoreUrl: string | undefined; collectorUrl: string };

/** Periodic work runs more often than in production, so that each window sees it, and not by chance. */
export const collectEveryMs = 1_000;

/** What these features are switched on by, beside the table. */
export function environmentOf(
  features: readonly Feature[],
  { limitStoreUrl, collectorUrl }: Surroundings,
): Record<string, string> {
  const has = (feature: Feature) => features.includes(feature);
  const isSent = has('collection') || has('traces');
  return {
    PENSTOCK_BENCH_FEATURES: features.join(','),
    ...(has('limit-store') && limitStoreUrl !== undefined
      ? {
          PENSTOCK_LIMITS_STORE_URL: limitStoreUrl,
          // The store shares its core with the load: it is late at times, and must not be given up for it.
          PENSTOCK_LIMITS_STORE_BUDGET_MS: '1000',
        }
      : {}),
    ...(isSent
      ? {
          OTEL_EXPORTER_OTLP_ENDPOINT: collectorUrl,
          OTEL_LOGS_EXPORTER: 'none',
          OTEL_METRICS_EXPORTER: has('collection') ? 'otlp' : 'none',
          OTEL_METRIC_EXPORT_INTERVAL: String(collectEveryMs),
          OTEL_TRACES_EXPORTER: has('traces') ? 'otlp' : 'none',
          OTEL_TRACES_SAMPLER: 'traceidratio',
          OTEL_TRACES_SAMPLER_ARG: '0.01',
          OTEL_BSP_SCHEDULE_DELAY: String(collectEveryMs),
        }
      : {}),
  };
}
