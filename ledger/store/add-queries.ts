// What do new records change beside themselves? The sums that they are added to, and which attempt is the last of its request.

import { markText, touchedIds } from './last-attempts.ts';
import { listOf, type Query, type Value } from './query.ts';
import { REFUSAL_KEYS } from './refusal-rows.ts';
import type { Rollups } from './roll-up.ts';
import {
  type AddedRow,
  DAILY_KEYS,
  daysKeysOf,
  MEASURES,
  SPAN_KEYS,
  SPEND_MEASURES,
  SPENDER_NAMES,
  SPENDERS,
} from './row.ts';
import type { DatabaseKind } from './schema.ts';

/** How the sums of new records are added to those that are there: a statement for each table, and the rows that go into it. */
interface SumUpsert {
  readonly text: string;
  readonly columns: readonly string[];
  readonly rowsOf: (sums: Rollups) => readonly Readonly<Record<string, Value>>[];
}

/** @param from Rows of such columns, as the database is given them: of the first table as value 1, of the second as value 2. */
export function sumUpserts(
  from: (columns: readonly string[], value: number) => string,
): readonly SumUpsert[] {
  return [
    sumsOf('ledger_daily', DAILY_KEYS, MEASURES, [], ({ daily }) => daily),
    sumsOf('ledger_spans', SPAN_KEYS, MEASURES, ['last_ms', 'last_sequence'], ({ spans }) => spans),
    sumsOf('ledger_first_contents', ['span', 'ms'], ['answers'], [], ({ firstContents }) => firstContents),
    ...SPENDER_NAMES.flatMap((spender) => {
      const { column, days, totals } = SPENDERS[spender];
      const newest = ['last_used_ms', 'sequence'];
      return [
        sumsOf(days, daysKeysOf(spender), SPEND_MEASURES, [], ({ spend }) => spend[spender].days),
        sumsOf(totals, [column], SPEND_MEASURES, newest, ({ spend }) => spend[spender].totals),
      ];
    }),
  ].map(({ textFrom, columns, rowsOf }, at) => ({ text: textFrom(from(columns, at + 1)), columns, rowsOf }));
}

function sumsOf(
  table: string,
  keys: readonly string[],
  measures: readonly string[],
  latest: readonly string[],
  rowsOf: SumUpsert['rowsOf'],
) {
  const textFrom = (source: string): string => upsertSums(table, keys, measures, latest, source);
  return { columns: [...keys, ...latest, ...measures], rowsOf, textFrom };
}

/** As `sumUpserts`, of refusals. */
export function upsertRefusals(from: (columns: readonly string[]) => string): Omit<SumUpsert, 'rowsOf'> {
  const columns = [...REFUSAL_KEYS, 'refused'];
  return {
    columns,
    text: upsertSums('ledger_refusal_spans', REFUSAL_KEYS, ['refused'], [], from(columns)),
  };
}

/** @throws {Error} where one of the columns is missing: money that is written as nothing is lost without a word. */
export function valuesOf(row: Readonly<Record<string, Value>>, columns: readonly string[]): Value[] {
  return columns.map((name) => {
    const value = row[name];
    if (value === undefined) throw new Error(`a row of sums has no '${name}'`);
    return value;
  });
}

/** On a row that is there, the measures are added to its own; of the rest the newest stays. */
function upsertSums(
  table: string,
  keys: readonly string[],
  measures: readonly string[],
  latest: readonly string[],
  source: string,
): string {
  const columns = [...keys, ...latest, ...measures].join(', ');
  const changes = [
    ...measures.map((name) => `${name} = ${table}.${name} + excluded.${name}`),
    ...latest.map(
      (name) =>
        `${name} = CASE WHEN excluded.${name} > ${table}.${name} THEN excluded.${name} ELSE ${table}.${name} END`,
    ),
  ];
  return `INSERT INTO ${table} (${columns}) ${source} ON CONFLICT (${keys.join(', ')}) DO UPDATE SET ${changes.join(', ')}`;
}

/** Undefined where nothing is to be marked. */
export function markQuery(kind: DatabaseKind, added: readonly AddedRow[]): Query | undefined {
  const ids = touchedIds(added);
  return ids.length === 0 ? undefined : { text: markText(listOf(kind, 1)), values: [JSON.stringify(ids)] };
}
