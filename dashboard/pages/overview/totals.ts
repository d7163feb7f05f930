// What do the requests of a period come to, and each of its intervals? Pure: out of what the ledger says of all of it.

import type { FirstContent, RequestsAnswer, RequestsRow, SeriesAnswer, SeriesRow } from './ledger.ts';
import type { PeriodQuery } from './period.ts';

interface Figures {
  /** Of callers: those sent to a provider, and those that the gateway refused itself. */
  readonly requests: number;
  readonly sent: number;
  readonly refused: number;
  readonly errors: number;
  /** Of those that were sent. */
  readonly errorRate: number;
  /** Rejected by a provider as wrong; no errors. */
  readonly rejected: number;
  readonly firstContentMs: FirstContent | undefined;
  readonly input: number;
  readonly output: number;
  readonly cost: number;
  readonly unpriced: number;
}

export function errorsOf({ outcomes }: Pick<RequestsRow, 'outcomes'>): number {
  return (outcomes.failed ?? 0) + (outcomes['broken-off'] ?? 0) + (outcomes.interrupted ?? 0);
}

export function figuresOf({ total }: Pick<RequestsAnswer, 'total'>, { rows }: SeriesAnswer): Figures {
  const sum = (of: (row: SeriesRow) => number) => rows.reduce((all, row) => all + of(row), 0);
  const refused = sum((row) => row.refused ?? 0);
  const errors = errorsOf(total);
  return {
    requests: total.requests + refused,
    sent: total.requests,
    refused,
    errors,
    errorRate: total.requests === 0 ? 0 : Math.min(1, errors / total.requests),
    rejected: total.outcomes.refused ?? 0,
    firstContentMs: total.firstContentMs,
    input: sum(({ tokens }) => tokens.input),
    output: sum(({ tokens }) => tokens.output),
    cost: sum(({ costUsd }) => Number(costUsd)),
    unpriced: sum(({ unpriced }) => unpriced),
  };
}

type Started = { readonly minute?: string; readonly hour?: string; readonly day?: string };

/** A value for each start, in order. @param none where nothing is known of an interval. */
export function overTime<Row extends Started, None extends number | undefined>(
  rows: readonly Row[],
  { starts, interval }: Pick<PeriodQuery, 'starts' | 'interval'>,
  of: (row: Row) => number | None,
  none: None,
): readonly (number | None)[] {
  const byStart = new Map(rows.map((row) => [row[interval], row]));
  return starts.map((start) => {
    const row = byStart.get(start);
    return row === undefined ? none : of(row);
  });
}
