// What do rows of the ledger say of calls together, and in which words of their faults? Pure.

import type { HealthRow } from '../overview/ledger.ts';
import { errorsOf } from '../overview/totals.ts';

interface CallsOf {
  readonly calls: number;
  readonly failed: number;
  /** The row that failed last. */
  readonly last: HealthRow | undefined;
}

/** Of a refusal or a failure, where only its code is known: `rate limit exceeded`. */
export function codeWords(code: string): string {
  return code === 'invalid_api_key' ? 'Unknown or disabled key' : code.replaceAll('_', ' ');
}

/** Calls whose caller went away say nothing of the upstream. */
export function callsIn(rows: readonly HealthRow[]): CallsOf {
  const sum = (of: (row: HealthRow) => number) => rows.reduce((total, row) => total + of(row), 0);
  const [last] = rows
    .filter(({ lastFailedAt }) => lastFailedAt !== undefined)
    .toSorted((a, b) => (b.lastFailedAt ?? '').localeCompare(a.lastFailedAt ?? ''));
  return {
    calls: sum(({ attempts, outcomes }) => attempts - (outcomes.cancelled ?? 0)),
    failed: sum(errorsOf),
    last,
  };
}
