// What has each key or namespace spent, by the periods of budgets, and whose spend has changed?

import { periodsOf } from './periods.ts';
import { integer, isOfNamespace, jsonRows, listOf, type Query, type Row, type Value } from './query.ts';
import { joinCost, LOW_PER_HIGH, SPEND_MEASURES, SPENDERS, type SpendMeasure } from './row.ts';
import type { DatabaseKind } from './schema.ts';
import type { CostsQuery, Spend, Spender, Use } from './store.ts';

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

/** One row, as with `costsQuery`. The first day of each name is looked up in the index, however many days there are. */
export function firstDaysQuery(kind: DatabaseKind, spender: Spender, names: readonly string[]): Query {
  const { column, days, totals } = SPENDERS[spender];
  const object = kind === 'sqlite' ? 'json_group_object' : 'json_object_agg';
  return {
    text: `SELECT CAST(${object}(name, day) AS TEXT) AS json FROM
      (SELECT k.${column} AS name, (SELECT MIN(d.day) FROM ${days} d WHERE d.${column} = k.${column}) AS day
        FROM ${totals} k WHERE k.${column} IN ${listOf(kind, 1)}) AS found`,
    values: [JSON.stringify(names)],
  };
}

/** One row, whose JSON the database writes: rows of thousands of spenders are made and read nowhere else. */
export function costsQuery(
  kind: DatabaseKind,
  { spender, names, usedSinceMs = 0, namespace, limit, offset = 0, nowMs }: CostsQuery,
): Query {
  const { column, days, totals: table } = SPENDERS[spender];
  const since = periodsOf(nowMs);
  const values: Value[] = [];
  const place = (value: Value): string => `$${values.push(value)}`;
  const conditions = [`k.last_used_ms >= ${place(usedSinceMs)}`];
  if (names !== undefined)
    conditions.push(`k.${column} IN ${listOf(kind, values.push(JSON.stringify(names)))}`);
  if (namespace !== undefined) conditions.push(isOfNamespace(`k.${column}`, namespace, values));
  const where = conditions.join(' AND ');
  const costs = ['cost_high', 'cost_low'] as const;
  const sums = PERIODS.flatMap((period) => {
    const first = place(since[period]);
    return costs.map(
      (name) => `SUM(CASE WHEN d.day >= ${first} THEN d.${name} ELSE 0 END) AS ${period}_${name}`,
    );
  });
  const totals = costs.map((name) => `k.${name} AS total_${name}`);
  const dollars = [...PERIODS, 'total'].map((period) => dollarsIn(kind, `${period}_cost`));
  return {
    text: `SELECT (SELECT COUNT(*) FROM ${table} k WHERE ${where}) AS total,
      ${jsonRows(kind, ['name', 'last_used_ms', ...dollars])} FROM
      (SELECT k.${column} AS name, k.last_used_ms, ${[...totals, ...sums].join(', ')}
        FROM ${table} k LEFT JOIN ${days} d ON d.${column} = k.${column}
          AND d.day >= ${place(since.week < since.month ? since.week : since.month)}
        WHERE ${where}
        GROUP BY k.${column}, k.last_used_ms, ${costs.map((name) => `k.${name}`).join(', ')}
        ORDER BY k.${column} LIMIT ${place(limit)} OFFSET ${place(offset)}) AS page`,
    values,
  };
}

/** As `usdOf` writes them: thousandths of a dollar, and what is left of them, whose sums may have come to more than one. */
export function dollarsIn(kind: DatabaseKind, cost: string): string {
  const thousandths = `(${cost}_high + ${cost}_low / ${LOW_PER_HIGH})`;
  const exact =
    kind === 'sqlite'
      ? `printf('%d.%03d%09d', ${thousandths} / 1000, ${thousandths} % 1000, ${cost}_low % ${LOW_PER_HIGH})`
      : `(${cost}_high * 0.001 + ${cost}_low * 0.000000000001)::text`;
  return `RTRIM(RTRIM(${exact}, '0'), '.')`;
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
