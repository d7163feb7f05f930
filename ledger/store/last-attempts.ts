// Which of the attempts of a request was its last? The one behind which there is no further number. It is marked when records come in, in whatever
// order they do: to look for the next one of each would make every question about requests a long one.

import type { AddedRow } from './row.ts';

/** An id, `<request>.<attempt>`, without the number. */
export const beforeNumber = (record: string): string => `RTRIM(${record}.id, '0123456789')`;

/** Whatever an id may be, it is read without an error: nine digits are a number to both databases, and none is NULL. */
const nextId = (record: string): string =>
  `${beforeNumber(record)} || CAST(CAST(NULLIF(SUBSTR(SUBSTR(${record}.id, LENGTH(${beforeNumber(record)}) + 1), 1, 9), '')
    AS BIGINT) + 1 AS TEXT)`;

/** Last attempts of requests that were not answered, which are few. As the index has it. */
export const UNANSWERED = "outcome <> 'answered' AND is_last = 1";

/** Answers of attempts that were not the first of their request. As the index has it. */
export const FURTHER_ANSWERED = "requests = 0 AND outcome = 'answered'";

/** All attempts of a request up to this one, in their order. */
export function idsUpTo(id: string): readonly string[] {
  const [, request = '', number] = /^(.*?)(\d{1,3})$/.exec(id) ?? [];
  return Array.from({ length: Number(number ?? 0) }, (_, at) => `${request}${at + 1}`);
}

const hasNext = `EXISTS (SELECT 1 FROM ledger_records n WHERE n.id = ${nextId('ledger_records')})`;

/** Marks attempts that are not the last: of all requests, or of the ids in a list in SQL. */
export const markText = (ids?: string): string =>
  `UPDATE ledger_records SET is_last = 0
    WHERE outcome <> 'answered' ${ids === undefined ? '' : `AND id IN ${ids} `}AND ${hasNext}`;

/** Ids of which that may have changed with the records that came in. An answer is the last, or is not counted. */
export function touchedIds(added: readonly Pick<AddedRow, 'id' | 'outcome'>[]): readonly string[] {
  return added.flatMap(({ id, outcome }) => [...(outcome === 'answered' ? [] : [id]), ...previousId(id)]);
}

function previousId(id: string): readonly string[] {
  const [, request, number] = /^(.*?)(\d{1,9})$/.exec(id) ?? [];
  return request === undefined || Number(number) < 2 ? [] : [`${request}${Number(number) - 1}`];
}
