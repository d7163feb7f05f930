// How did requests end, and how long did their first words take? Records are of attempts: a request ended as its last one did, which is marked
// as such (`last-attempts.ts`).

import { beforeNumber, UNANSWERED } from './last-attempts.ts';
import {
  COLUMNS,
  filterConditions,
  groupOf,
  integer,
  listOf,
  type Query,
  type Row,
  type Value,
  withinMs,
} from './query.ts';
import { TWO_DIGIT_STEPS } from './row.ts';
import type { DatabaseKind } from './schema.ts';
import { boundsOf, type Interval, intervalMs, isWhole, spanAt, spansIn } from './spans.ts';
import type {
  EndsRow,
  FilterName,
  FirstContentRow,
  FirstContentSumsRow,
  IntervalQuery,
  RecentQuery,
} from './store.ts';

/** The interval that a record began in: Unix milliseconds of its beginning. */
const beginningOf = (record: string, interval: Interval): string =>
  `${record}.started_ms - ${record}.started_ms % ${intervalMs[interval]}`;

/** Of a request with several attempts the last one may begin so much later than the first. */
const attemptsLastMs = intervalMs.day;

/**
 * Only of requests that were not answered, which are few: the others are what is left of all. Counted where their first attempt began, as
 * all are. Most have one attempt, and need no look for another one that was the first.
 */
export function endsQuery(query: IntervalQuery): Query {
  const { interval, where } = query;
  const { fromMs, toMs } = boundsOf(query);
  const values: Value[] = [fromMs, toMs, toMs + attemptsLastMs];
  const conditions = [
    // As the index has it.
    UNANSWERED,
    'started_ms >= $1',
    'started_ms < $3',
    ...filterConditions(where, values),
  ];
  const first = `${beforeNumber('l')} || '1'`;
  const span = `CASE WHEN f.id IS NULL THEN ${beginningOf('l', interval)} ELSE ${beginningOf('f', interval)} END`;
  return {
    text: `SELECT ${span} AS interval_start, l.outcome, l.failure, COUNT(*) AS requests
      FROM (SELECT id, started_ms, outcome, failure FROM ledger_records WHERE ${conditions.join(' AND ')}) AS l
      LEFT JOIN ledger_records f ON l.id <> ${first} AND f.id = ${first}
      WHERE ((l.id = ${first} AND l.started_ms < $2) OR (f.started_ms >= $1 AND f.started_ms < $2))
      GROUP BY ${span}, l.outcome, l.failure ORDER BY ${span}, l.outcome, l.failure`,
    values,
  };
}

export function readEnds(rows: readonly Row[], interval: Interval): EndsRow[] {
  return rows.map(({ interval_start, outcome, failure, requests }) => ({
    interval: spanAt(Number(interval_start), interval),
    outcome: String(outcome),
    failure: String(failure),
    requests: Number(integer(requests)),
  }));
}

/** As `toTwoDigits` does it. */
const twoDigits = `CASE ${TWO_DIGIT_STEPS.map(
  (step) => `WHEN first_content_ms < ${step * 100} THEN first_content_ms - first_content_ms % ${step}`,
).join(' ')} ELSE first_content_ms - first_content_ms % 100000 END`;

export function firstContentsQuery(kind: DatabaseKind, query: IntervalQuery): Query {
  const { interval, where } = query;
  const values: Value[] = [];
  const spans = interval === 'minute' || !isWhole(query, interval) ? undefined : spansIn(query, interval);
  if (spans !== undefined && Object.keys(where).length === 0)
    return {
      text: `SELECT span, ms, answers FROM ledger_first_contents
        WHERE span IN ${listOf(kind, values.push(JSON.stringify(spans)))} ORDER BY span, ms`,
      values,
    };
  const conditions = [
    'first_content_ms >= 0',
    ...withinMs(query, values, 'r.'),
    ...filterConditions(where, values),
  ];
  const span = beginningOf('r', interval);
  return {
    text: `SELECT ${span} AS interval_start, ${twoDigits} AS ms, COUNT(*) AS answers FROM ledger_records r
      WHERE ${conditions.join(' AND ')} GROUP BY ${span}, ${twoDigits} ORDER BY ${span}, ms`,
    values,
  };
}

export function readFirstContents(rows: readonly Row[], interval: Interval): FirstContentRow[] {
  return rows.map(({ span, interval_start, ms, answers }) => ({
    interval: span === undefined ? spanAt(Number(interval_start), interval) : String(span),
    ms: Number(integer(ms)),
    answers: Number(integer(answers)),
  }));
}

export function firstContentsByQuery(by: readonly FilterName[], query: RecentQuery): Query {
  const values: Value[] = [];
  const conditions = [
    'first_content_ms >= 0',
    ...withinMs(query, values),
    ...filterConditions(query.where, values),
  ];
  const group = by.map((dimension) => COLUMNS[dimension]).join(', ');
  const named = by.map((dimension) => `${COLUMNS[dimension]} AS by_${dimension}`).join(', ');
  return {
    text: `SELECT ${named}, ${twoDigits} AS ms, COUNT(*) AS answers FROM ledger_records
      WHERE ${conditions.join(' AND ')} GROUP BY ${group}, ${twoDigits} ORDER BY ${group}, ms`,
    values,
  };
}

export function readFirstContentsBy(rows: readonly Row[], by: readonly FilterName[]): FirstContentSumsRow[] {
  return rows.map((row) => ({
    group: groupOf(row, by),
    ms: Number(integer(row.ms)),
    answers: Number(integer(row.answers)),
  }));
}
