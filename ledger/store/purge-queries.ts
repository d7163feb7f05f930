// How does what is too old go? In pieces.

import type { Query } from './query.ts';
import { REFUSAL_KEYS } from './refusal-rows.ts';
import { SPAN_KEYS } from './row.ts';

export const purgeCursors = (silentSinceMs: number): Query => ({
  text: `DELETE FROM ledger_cursors WHERE at_ms < $1 AND source NOT LIKE 'import-%'`,
  values: [silentSinceMs],
});

/**
 * Deletes one batch: storing new records waits for one batch at most. The sign keeps the databases from scanning all records by sequence
 * when none is old.
 */
export const purgeRecords = (before: string, upTo: number, limit: number): Query => ({
  text: `DELETE FROM ledger_records WHERE sequence IN
    (SELECT sequence FROM ledger_records WHERE started_ms < $1 AND +sequence <= $2 LIMIT $3)`,
  values: [startOf(before), upTo, limit],
});

/** One batch of the sums by hour, as with records. */
export const purgeHours = (before: string, limit: number): Query => ({
  text: `DELETE FROM ledger_spans WHERE (${SPAN_KEYS.join(', ')}) IN
    (SELECT ${SPAN_KEYS.join(', ')} FROM ledger_spans WHERE span < $1 AND LENGTH(span) > 10 LIMIT $2)`,
  values: [before, limit],
});

export const purgeFirstContents = (before: string, limit: number): Query => ({
  text: `DELETE FROM ledger_first_contents WHERE (span, ms) IN
    (SELECT span, ms FROM ledger_first_contents WHERE span < $1 LIMIT $2)`,
  values: [before, limit],
});

/** One batch of the lines that were put aside before the day, as with records. */
export const purgeAsides = (before: string, limit: number): Query => ({
  text: `DELETE FROM ledger_asides WHERE digest IN
    (SELECT digest FROM ledger_asides WHERE at_ms < $1 LIMIT $2)`,
  values: [startOf(before), limit],
});

/** Of single refusals and of windows, which have the same columns for it. */
export const purgeRefusals = (
  table: 'ledger_refusals' | 'ledger_refusal_windows',
  before: string,
  limit: number,
): Query => ({
  text: `DELETE FROM ${table} WHERE id IN (SELECT id FROM ${table} WHERE at_ms < $1 LIMIT $2)`,
  values: [startOf(before), limit],
});

/** All but the newest so many. */
export const purgeExcessRefusals = (kept: number, limit: number): Query => ({
  text: `DELETE FROM ledger_refusals WHERE id IN
    (SELECT id FROM ledger_refusals WHERE at_ms <=
      (SELECT at_ms FROM ledger_refusals ORDER BY at_ms DESC LIMIT 1 OFFSET $1) LIMIT $2)`,
  values: [kept, limit],
});

/** Also those by day: refusals are known as long as records are. */
export const purgeRefusalSums = (before: string, limit: number): Query => ({
  text: `DELETE FROM ledger_refusal_spans WHERE (${REFUSAL_KEYS.join(', ')}) IN
    (SELECT ${REFUSAL_KEYS.join(', ')} FROM ledger_refusal_spans WHERE span < $1 LIMIT $2)`,
  values: [before, limit],
});

/** Empty: before everything. */
function startOf(day: string): number {
  return day === '' ? 0 : Date.parse(day);
}
