// What does the ledger answer the overview? No more of it than is shown.

import type { RequestsAnswer } from './totals.ts';
import type { BudgetUse } from './went-wrong.ts';

export interface SeriesRow {
  readonly hour?: string;
  readonly day?: string;
  readonly model?: string;
  readonly apiKey?: string;
  readonly namespace?: string;
  readonly provider?: string;
  /** All groups together that have no rows of their own. */
  readonly isRest?: true;
  readonly requests: number;
  readonly unpriced: number;
  readonly tokens: { readonly input: number; readonly output: number };
  readonly costUsd: string;
}

export interface SeriesAnswer {
  readonly rows: readonly SeriesRow[];
  readonly isTruncated: boolean;
}

export interface HealthRow {
  readonly provider?: string;
  readonly upstreamModel?: string;
  readonly route?: string;
  readonly requests: number;
  readonly attempts: number;
  readonly outcomes: Readonly<Record<string, number>>;
  readonly lastFailedAt?: string;
}

export interface NamespacesAnswer {
  readonly namespaces: readonly {
    readonly namespace: string;
    readonly month: { readonly costUsd: string };
  }[];
}

export interface BudgetsAnswer {
  readonly budgets: readonly BudgetUse[];
}

export interface HealthAnswer {
  readonly health: readonly HealthRow[];
}

export type { RequestsAnswer };

/** Failed attempts that another one made good: what a caller did not notice. */
export function failoversOf({ attempts, requests }: HealthRow): number {
  return Math.max(0, attempts - requests);
}
