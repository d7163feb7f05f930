// How did requests end, and how long did their first words take? Records are of attempts: a request ended as its last one did, and that is
// the one behind which there is no further number.

import { filterConditions, integer, type Query, type Row, type Value } from './queries.ts';
import type { EndsRow, FirstContentRow, IntervalQuery } from './store.ts';

/** Of an id, `<request>.<attempt>`, all but the number. */
const beforeNumber = (record: string): string => `RTRIM(${record}.id, '0123456789')`;

/** Whatever an id may be, it is read without an error: nine digits are a number to both databases, and none is NULL. */
const nextId = (record: string): string =>
  `${beforeNumber(record)} || CAST(CAST(NULLIF(SUBSTR(SUBSTR(${record}.id, LENGTH(${beforeNumber(record)}) + 1), 1, 9), '')
    AS BIGINT) + 1 AS TEXT)`;

/**
 * Only of requests that were not answered, which are few: the others are what is left of all. Counted where their first attempt began, as
 * all are; so the last one may be of a day later.
 */
export function endsQuery({ from, to, interval, where }: IntervalQuery): Query {
  const values: Value[] = [from, to];
  const conditions = [
    // As the index has it.
    "outcome <> 'answered'",
    'day >= $1',
    'day <= $2',
    ...filterConditions(where, values),
  ];
  return {
    text: `SELECT f.${interval} AS interval_start, l.outcome, l.failure, COUNT(*) AS requests
      FROM (SELECT id, outcome, failure FROM ledger_records WHERE ${conditions.join(' AND ')}) AS l
      JOIN ledger_records f ON f.id = ${beforeNumber('l')} || '1'
      WHERE f.day >= $1 AND f.day < $2
        AND NOT EXISTS (SELECT 1 FROM ledger_records n WHERE n.id = ${nextId('l')})
      GROUP BY f.${interval}, l.outcome, l.failure ORDER BY f.${interval}, l.outcome, l.failure`,
    values,
  };
}

export function readEnds(rows: readonly Row[]): EndsRow[] {
  return rows.map(({ interval_start, outcome, failure, requests }) => ({
    interval: String(interval_start),
    outcome: String(outcome),
    failure: String(failure),
    requests: Number(integer(requests)),
  }));
}

/** So an interval has some four hundred rows at most, however many answers there were. */
const twoDigits = `CASE ${[1, 10, 100, 1_000, 10_000]
  .map((step) => `WHEN first_content_ms < ${step * 100} THEN first_content_ms - first_content_ms % ${step}`)
  .join(' ')} ELSE first_content_ms - first_content_ms % 100000 END`;

export function firstContentsQuery({ from, to, interval, where }: IntervalQuery): Query {
  const values: Value[] = [from, to];
  const conditions = ['first_content_ms >= 0', 'day >= $1', 'day < $2', ...filterConditions(where, values)];
  return {
    text: `SELECT ${interval} AS interval_start, ${twoDigits} AS ms, COUNT(*) AS answers FROM ledger_records
      WHERE ${conditions.join(' AND ')} GROUP BY ${interval}, ${twoDigits} ORDER BY ${interval}, ms`,
    values,
  };
}

export function readFirstContents(rows: readonly Row[]): FirstContentRow[] {
  return rows.map(({ interval_start, ms, answers }) => ({
    interval: String(interval_start),
    ms: Number(integer(ms)),
    answers: Number(integer(answers)),
  }));
}
