// What has each key or namespace spent, by the periods of budgets, and whose spend has changed?

import { periodsOf } from './periods.ts';
import { integer, listOf, type Query, type Row } from './query.ts';
import { joinCost, SPEND_MEASURES, SPENDERS, type SpendMeasure } from './row.ts';
import type { DatabaseKind } from './schema.ts';
import type { Spend, Spender, Use } from './store.ts';

const PERIODS = ['day', 'week', 'month'] as const;

export function spendQuery(
  kind: DatabaseKind,
  spender: Spender,
  names: readonly string[],
  nowMs: number,
): Query {
  const { column, days, totals: table } = SPENDERS[spender];
  const periods = periodsOf(nowMs);
  const first = periods.week < periods.month ? periods.week : periods.month;
  const sums = PERIODS.flatMap((period, index) =>
    SPEND_MEASURES.map(
      (name) => `SUM(CASE WHEN d.day >= $${index + 3} THEN d.${name} ELSE 0 END) AS ${period}_${name}`,
    ),
  );
  const totals = SPEND_MEASURES.map((name) => `k.${name} AS total_${name}`);
  return {
    // Twice grouped by what the first decides, since only SQLite lets the rest be left out.
    text: `SELECT k.${column} AS name, k.last_used_ms, k.sequence, ${[...totals, ...sums].join(', ')}
      FROM ${table} k LEFT JOIN ${days} d ON d.${column} = k.${column} AND d.day >= $2
      WHERE k.${column} IN ${listOf(kind, 1)}
      GROUP BY k.${column}, k.last_used_ms, k.sequence, ${SPEND_MEASURES.map((name) => `k.${name}`).join(', ')}
      ORDER BY k.sequence`,
    values: [JSON.stringify(names), first, ...PERIODS.map((period) => periods[period])],
  };
}

export function readSpend(rows: readonly Row[]): Spend[] {
  return rows.map((row) => {
    const use = (period: string): Use => {
      const of = (name: SpendMeasure): bigint => integer(row[`${period}_${name}`]);
      return {
        requests: Number(of('requests')),
        input: Number(of('input')),
        cachedInput: Number(of('cached_input')),
        output: Number(of('output')),
        unpriced: Number(of('unpriced')),
        costPicodollars: joinCost(of('cost_high'), of('cost_low')),
      };
    };
    return {
      name: String(row.name),
      sequence: Number(row.sequence),
      lastUsedMs: Number(row.last_used_ms),
      day: use('day'),
      week: use('week'),
      month: use('month'),
      total: use('total'),
    };
  });
}

export function changedQuery(spender: Spender, after: number, limit: number, upTo: number): Query {
  const { column, totals } = SPENDERS[spender];
  return {
    text: `SELECT ${column} AS name, sequence FROM ${totals} WHERE sequence > $1 AND sequence <= $2
      ORDER BY sequence LIMIT $3`,
    values: [after, upTo, limit],
  };
}

export function readChanged(rows: readonly Row[]): { readonly name: string; readonly sequence: number }[] {
  return rows.map(({ name, sequence }) => ({ name: String(name), sequence: Number(sequence) }));
}
