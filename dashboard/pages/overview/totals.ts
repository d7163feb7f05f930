// What do the requests of a period come to, and each of its intervals? Pure: out of what the ledger says of all of it.

import type {
  FirstContent,
  RefusalsAnswer,
  RefusalsRow,
  RequestsAnswer,
  RequestsRow,
  SeriesAnswer,
  SeriesRow,
} from './ledger.ts';
import type { PeriodQuery } from './period.ts';

interface Figures {
  /** Requests of callers: those sent to a provider, and those that the gateway refused itself. */
  readonly requests: number;
  readonly sent: number;
  /** By the gateway itself, for whatever reason. */
  readonly refused: number;
  /** The refusals of a gateway that could not serve. They count as errors too. */
  readonly unserved: number;
  /** Failed, cut off, interrupted or not served. */
  readonly errors: number;
  /** Of all requests. */
  readonly errorRate: number;
  /** Rejected by a provider as wrong; no errors. */
  readonly rejected: number;
  readonly firstContentMs: FirstContent | undefined;
  readonly input: number;
  readonly output: number;
  readonly cost: number;
  readonly unpriced: number;
}

const failedEnds = ['failed', 'broken-off', 'interrupted'] as const;

/** Of requests or of attempts, on every page. */
export function errorsOf({ outcomes }: Pick<RequestsRow, 'outcomes'>): number {
  return failedEnds.reduce((sum, end) => sum + (outcomes[end] ?? 0), 0);
}

/** Which of them to list first. */
export function failedEndOf({ outcomes }: Pick<RequestsRow, 'outcomes'>) {
  return failedEnds.find((end) => outcomes[end]);
}

/** The gateway answered it itself, since it could not serve it: to its caller that is an error. */
export const isUnserved = ({ status = 0 }: { readonly status?: number | undefined }): boolean =>
  status >= 500;

export function figuresOf(
  { total }: Pick<RequestsAnswer, 'total'>,
  { rows }: SeriesAnswer,
  refusals: RefusalsAnswer,
): Figures {
  const sum = (of: (row: SeriesRow) => number) => rows.reduce((all, row) => all + of(row), 0);
  const refused = refusals.rows.reduce((all, row) => all + row.refused, 0);
  const unserved = refusals.rows.filter(isUnserved).reduce((all, row) => all + row.refused, 0);
  const errors = errorsOf(total) + unserved;
  const requests = total.requests + refused;
  return {
    requests,
    sent: total.requests,
    refused,
    unserved,
    errors,
    errorRate: requests === 0 ? 0 : Math.min(1, errors / requests),
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

/** The refusals of each start, in order. */
export function refusedOverTime(
  { rows }: RefusalsAnswer,
  query: Pick<PeriodQuery, 'starts' | 'interval'>,
  isOf: (row: RefusalsRow) => boolean = () => true,
): readonly number[] {
  const byStart = Map.groupBy(rows.filter(isOf), (row) => row[query.interval]);
  return query.starts.map((start) =>
    (byStart.get(start) ?? []).reduce((sum, { refused }) => sum + refused, 0),
  );
}
