// How much was each key given, and what does it pay, in any span of time? One row, whose JSON the database writes: keys are thousands.
// Whole days come from the few sums of days; parts of a day are added up record by record.

import { isOfNamespace, jsonRows, type Query, type Value, withinMs } from './query.ts';
import type { DatabaseKind } from './schema.ts';
import { daysAround, isWhole } from './spans.ts';
import { dollarsIn } from './spend-queries.ts';
import type { UsesQuery } from './store.ts';

const columns = ['requests', 'input', 'output', 'cost_high', 'cost_low'] as const;

export function usesQuery(
  kind: DatabaseKind,
  { namespace, limit, offset = 0, ...stretch }: UsesQuery,
): Query {
  const values: Value[] = [];
  const sums = isWhole(stretch, 'day')
    ? sumsOfDays(stretch, namespace, values)
    : sumsOfRecords(stretch, namespace, values);
  const page = `LIMIT $${values.push(limit)} OFFSET $${values.push(offset)}`;
  return {
    text: `SELECT ${jsonRows(kind, ['name', 'requests', 'input', 'output', dollarsIn(kind, 'cost')])}
      FROM (${sums} ${page}) AS page`,
    values,
  };
}

function sumsOfDays(
  stretch: Pick<UsesQuery, 'from' | 'to'>,
  namespace: string | undefined,
  values: Value[],
): string {
  const { from, to } = daysAround(stretch);
  const sums = columns.map((name) => `SUM(d.${name}) AS ${name}`).join(', ');
  const days = `d.day >= $${values.push(from)} AND d.day < $${values.push(to)}`;
  const ofNamespace =
    namespace === undefined ? '' : ` WHERE ${isOfNamespace('k.api_key', namespace, values)}`;
  return `SELECT k.api_key AS name, ${sums} FROM ledger_keys k
    JOIN ledger_key_days d ON d.api_key = k.api_key AND ${days}${ofNamespace}
    GROUP BY k.api_key ORDER BY k.api_key`;
}

/** As sums of days have it: of what was delivered, and paid by the tenant. */
function sumsOfRecords(
  stretch: Pick<UsesQuery, 'from' | 'to'>,
  namespace: string | undefined,
  values: Value[],
): string {
  const counted = {
    requests: 'requests',
    input: "CASE WHEN payer <> 'platform' THEN input ELSE 0 END",
    output: "CASE WHEN payer <> 'platform' THEN output ELSE 0 END",
    cost_high: "CASE WHEN payer = 'tenant' THEN cost_high ELSE 0 END",
    cost_low: "CASE WHEN payer = 'tenant' THEN cost_low ELSE 0 END",
  };
  const sums = columns.map((name) => `SUM(${counted[name]}) AS ${name}`).join(', ');
  const conditions = [
    ...withinMs(stretch, values),
    ...(namespace === undefined ? [] : [`namespace = $${values.push(namespace)}`]),
  ];
  return `SELECT api_key AS name, ${sums} FROM ledger_records WHERE ${conditions.join(' AND ')}
    GROUP BY api_key ORDER BY api_key`;
}
