// Which of many are the largest? Of keys, sums by day say it, which are few.

import { isOfNamespace, type Query, type Value } from './query.ts';
import { SPENDERS } from './row.ts';
import { daysAround, isWhole } from './spans.ts';
import type { LargestQuery } from './store.ts';
import { weightOf } from './sums-queries.ts';

/**
 * The largest first, by what they were given and pay: those days are few, while all that is known of each key of a month are half a million
 * sums. Undefined where something besides is asked for, as with `usedQuery`.
 */
export function largestQuery({
  by,
  where = {},
  largestBy,
  limit,
  ...stretch
}: LargestQuery): Query | undefined {
  const { namespace, ...more } = where;
  // Sums of spenders do not know how an attempt ended.
  if (largestBy === 'failed') return undefined;
  if (by !== 'apiKey' || Object.keys(more).length > 0 || !isWhole(stretch, 'day')) return undefined;
  const { column, days, totals } = SPENDERS[by];
  const { from, to } = daysAround(stretch);
  const values: Value[] = [from, to, limit];
  const ofNamespace =
    namespace === undefined ? '' : ` WHERE ${isOfNamespace(`k.${column}`, namespace, values)}`;
  const order = weightOf(largestBy, 'd.').join(', ');
  return {
    text: `SELECT k.${column} AS name FROM ${totals} k
      JOIN ${days} d ON d.${column} = k.${column} AND d.day >= $1 AND d.day < $2${ofNamespace}
      GROUP BY k.${column} ORDER BY ${order}, k.${column} LIMIT $3`,
    values,
  };
}
