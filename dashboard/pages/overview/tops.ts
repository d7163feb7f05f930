// Which groups used most? Pure: rows over time, folded to one row for each group, the largest first and all others at the end.

import type { SeriesRow } from './ledger.ts';
import type { Grouping, Measure } from './questions.ts';

export interface TopRow {
  readonly name: string;
  /** All that have no row of their own. */
  readonly isRest: boolean;
  readonly requests: number;
  readonly tokens: number;
  /** Dollars. */
  readonly cost: number;
}

export function topRows(rows: readonly SeriesRow[], by: Grouping, measure: Measure): readonly TopRow[] {
  const found = new Map<string | undefined, TopRow>();
  for (const row of rows) {
    const group = row.isRest === true ? undefined : row[by];
    const before = found.get(group);
    found.set(group, {
      name: group ?? 'All others',
      isRest: row.isRest === true,
      requests: (before?.requests ?? 0) + row.requests,
      tokens: (before?.tokens ?? 0) + row.tokens.input + row.tokens.output,
      cost: (before?.cost ?? 0) + Number(row.costUsd),
    });
  }
  return [...found.values()]
    .filter((row) => row[measure] > 0)
    .sort(
      (a, b) => Number(a.isRest) - Number(b.isRest) || b[measure] - a[measure] || (a.name < b.name ? -1 : 1),
    );
}
