// What does the ledger answer the overview? No more of it than is shown.

export interface RequestsRow {
  readonly minute?: string;
  readonly hour?: string;
  readonly day?: string;
  readonly requests: number;
  readonly outcomes: Readonly<Record<string, number>>;
  readonly errorRate: number;
  readonly firstContentMs?: FirstContent;
}

export interface FirstContent {
  readonly answers: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
}

export interface RequestsAnswer {
  readonly total: RequestsRow;
  readonly rows: readonly RequestsRow[];
}

export interface SeriesRow {
  /** One of these three is the beginning of its interval. */
  readonly minute?: string;
  readonly hour?: string;
  readonly day?: string;
  readonly model?: string;
  readonly apiKey?: string;
  readonly namespace?: string;
  readonly provider?: string;
  /** All groups together that have no rows of their own. */
  readonly isRest?: true;
  readonly requests: number;
  readonly attempts: number;
  /** Attempts that failed or were cut off. */
  readonly failed?: number;
  /** By the gateway itself. */
  readonly refused?: number;
  readonly unpriced: number;
  readonly tokens: { readonly input: number; readonly output: number };
  readonly costUsd: string;
}

export interface SeriesAnswer {
  readonly rows: readonly SeriesRow[];
  readonly isTruncated: boolean;
}

export interface RefusalsRow {
  readonly minute?: string;
  readonly hour?: string;
  readonly day?: string;
  /** Of our errors: the reason. */
  readonly code?: string;
  /** HTTP status of the answer. */
  readonly status?: number;
  /** Left out: of an unknown key. */
  readonly apiKey?: string;
  readonly refused: number;
}

export interface RefusalsAnswer {
  readonly rows: readonly RefusalsRow[];
}

export interface HealthRow {
  readonly provider?: string;
  readonly upstreamModel?: string;
  readonly route?: string;
  readonly requests: number;
  readonly attempts: number;
  readonly outcomes: Readonly<Record<string, number>>;
  /** Of periods of two hours at most. */
  readonly firstContentMs?: FirstContent;
  readonly lastFailedAt?: string;
  readonly lastFailure?: {
    readonly request: string;
    readonly status?: number;
    readonly failure?: string;
    /** The provider's failure, as in "answered HTTP 500". */
    readonly cause?: string;
  };
}

export interface BudgetUse {
  readonly namespace: string;
  readonly apiKey?: string;
  readonly period: string;
  readonly action: string;
  readonly warnPercent?: number;
  readonly limitUsd: string;
  readonly costUsd: string;
  readonly usedShare: number;
  readonly since?: string;
  /** Since when its spend grows: the first use, if that is in the period. */
  readonly paceSince?: string;
  readonly resetsAt?: string;
}

export interface BudgetsAnswer {
  readonly budgets: readonly BudgetUse[];
  readonly isTruncated: boolean;
}

export interface HealthAnswer {
  readonly health: readonly HealthRow[];
  /** The route's last request that a further attempt answered; its attempts are shown to users with the right to see targets. */
  readonly lastFailover?: {
    readonly at: string;
    readonly attempts?: readonly {
      readonly target: string;
      readonly failure?: string;
      /** What its provider did, as in "answered HTTP 500". */
      readonly cause?: string;
    }[];
  };
}
