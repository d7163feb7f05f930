// What do new records add to the sums? One row for each sum. Records are summed by all of their names at first: these are fewer, and the
// other sums are made out of them.

import {
  type AddedRow,
  ALL,
  type DailyRow,
  MEASURES,
  type Measure,
  SPAN_DETAILS,
  SPEND_MEASURES,
  SPENDERS,
  type SpendMeasure,
  TWO_DIGIT_STEPS,
} from './row.ts';
import type { Spender } from './store.ts';

/** Rows may have further columns than their table. */
export interface Rollups {
  readonly daily: readonly DailyRow[];
  /** Of each day and of each hour: of a namespace, and of all. */
  readonly spans: readonly SpanRow[];
  /** Of all namespaces together. */
  readonly firstContents: readonly FirstContentSum[];
  readonly spend: Readonly<Record<Spender, SpendRows>>;
}

/** Sums of records of one hour that have the same names. */
type PartRow = DailyRow & {
  readonly hour: string;
  readonly last_ms: number;
  readonly last_sequence: number;
  /** All names but those of the namespace and of the key. */
  readonly details: string;
};

type SpanRow = PartRow & { readonly span: string };

type FirstContentSum = { readonly span: string; readonly ms: number; readonly answers: number };

/** The name of the spender is another column. */
type SpendRow = Record<SpendMeasure | 'last_used_ms' | 'sequence', number> & { readonly day: string };

interface SpendRows {
  readonly days: readonly SpendRow[];
  readonly totals: readonly SpendRow[];
}

/** Between the names of a place: no name that is stored has one. */
const NUL = '\0';

export function rollUp(added: readonly AddedRow[]): Rollups {
  const parts = sumParts(
    added.map(partOf),
    ({ hour, namespace, api_key, details }) => hour + NUL + namespace + NUL + api_key + NUL + details,
  );
  const daily = sumParts(
    parts,
    ({ day, namespace, api_key, details }) => day + NUL + namespace + NUL + api_key + NUL + details,
  );
  const hours = sumSpans(parts.map((row) => ({ ...row, span: row.hour })));
  const days = sumSpans(hours.map((row) => ({ ...row, span: row.day })));
  const ofAll = [...hours, ...days].map((row) => ({ ...row, namespace: ALL }));
  return {
    daily,
    spans: [...hours, ...days, ...sumSpans(ofAll)],
    firstContents: firstContentsOf(added),
    spend: { apiKey: spendIn(daily, 'apiKey'), namespace: spendIn(days, 'namespace') },
  };
}

function partOf(row: AddedRow): PartRow {
  const details = SPAN_DETAILS.map((name) => row[name]).join(NUL);
  return { ...row, last_ms: row.started_ms, last_sequence: row.sequence, details };
}

function sumParts<Row extends PartRow>(rows: readonly Row[], placeOf: (row: Row) => string): Row[] {
  return sumBy<Measure | 'last_ms' | 'last_sequence', Row>(rows, placeOf, MEASURES, [
    'last_ms',
    'last_sequence',
  ]);
}

function sumSpans(rows: readonly SpanRow[]): SpanRow[] {
  return sumParts(rows, ({ span, namespace, details }) => span + NUL + namespace + NUL + details);
}

function firstContentsOf(added: readonly AddedRow[]): FirstContentSum[] {
  const answered = added.filter(({ first_content_ms }) => first_content_ms >= 0);
  const rows = answered.flatMap(({ day, hour, first_content_ms }): FirstContentSum[] => {
    const ms = toTwoDigits(first_content_ms);
    return [
      { span: day, ms, answers: 1 },
      { span: hour, ms, answers: 1 },
    ];
  });
  return sumBy(rows, ({ span, ms }) => span + NUL + ms, ['answers'], []);
}

/** So an interval has some four hundred different times at most. SQL does the same: see `request-queries.ts`. */
function toTwoDigits(ms: number): number {
  const step = TWO_DIGIT_STEPS.find((one) => ms < one * 100) ?? 100_000;
  return ms - (ms % step);
}

function spendIn(rows: readonly PartRow[], spender: Spender): SpendRows {
  const { column } = SPENDERS[spender];
  const sum = (uses: readonly NamedSpendRow[], placeOf: (row: NamedSpendRow) => string) =>
    sumBy<SpendMeasure | 'last_used_ms' | 'sequence', NamedSpendRow>(uses, placeOf, SPEND_MEASURES, [
      'last_used_ms',
      'sequence',
    ]);
  const days = sum(
    rows.map((row): NamedSpendRow => ({ ...useOf(row), [column]: row[column], name: row[column] })),
    ({ name, day }) => name + NUL + day,
  );
  return { days, totals: sum(days, ({ name }) => name) };
}

type NamedSpendRow = SpendRow & { readonly name: string };

/** Use reported for a key or its tenant: delivered answers, and the cost that the tenant pays. */
function useOf(row: PartRow): SpendRow {
  const isDelivered = row.payer !== 'platform';
  const isPaid = row.payer === 'tenant';
  return {
    day: row.day,
    last_used_ms: row.last_ms,
    sequence: row.last_sequence,
    requests: row.requests,
    input: isDelivered ? row.input : 0,
    cached_input: isDelivered ? row.cached_input : 0,
    output: isDelivered ? row.output : 0,
    unpriced: isPaid ? row.unpriced : 0,
    cost_high: isPaid ? row.cost_high : 0,
    cost_low: isPaid ? row.cost_low : 0,
  };
}

/** One row for each place, with the sums of its measures, the latest of others, and all else as the first row has it. */
function sumBy<Name extends string, Row extends Record<Name, number>>(
  rows: readonly Row[],
  placeOf: (row: Row) => string,
  measures: readonly Name[],
  latest: readonly Name[],
): Row[] {
  const sums = new Map<string, Record<Name, number> & Row>();
  for (const row of rows) {
    const place = placeOf(row);
    const sum: Record<Name, number> | undefined = sums.get(place);
    if (sum === undefined) {
      sums.set(place, { ...row });
      continue;
    }
    for (const name of measures) sum[name] += row[name];
    for (const name of latest) sum[name] = Math.max(sum[name], row[name]);
  }
  return [...sums.values()];
}
