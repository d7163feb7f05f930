// The ledger's own state: its identity, the cursors of journals and receivers, and the quarantine.

import { dayOf } from './day-of.ts';
import type { Query, Row } from './query.ts';
import type { LedgerState } from './store.ts';

const IDENTITY = 'identity';

/** Distinguishes this ledger from every other, and from a new one in its place. */
export const keepIdentity = (identity: string): Query => ({
  text: 'INSERT INTO ledger_meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING',
  values: [IDENTITY, identity],
});

/** Records before this day cannot be checked for duplicates any more. */
export const PURGED_BEFORE = 'purged-before';

/**
 * The day that a record has to be of to be taken; empty: any. A day that is yet to come was written by a clock that was wrong: believed, it
 * would turn away every record until then.
 */
export function readPurgedBefore([row]: readonly Row[], nowMs: number): string {
  const before = String(row?.value ?? '');
  return before > dayOf(nowMs) ? '' : before;
}

/** The write before records of earlier days are deleted; undefined: it is stored already. */
export function raisePurgedBefore(found: readonly Row[], before: string, nowMs: number): Query | undefined {
  const believed = readPurgedBefore(found, nowMs);
  const isBelieved = believed === String(found[0]?.value ?? '');
  return isBelieved && before <= believed ? undefined : putMeta(PURGED_BEFORE, before);
}

export const stateQuery: Query = {
  text: `SELECT value, (SELECT MAX(sequence) FROM ledger_keys) AS sequence,
    (SELECT value FROM ledger_meta WHERE name = $2) AS kept_from,
    (SELECT MAX(started_ms) FROM ledger_records) AS youngest_ms FROM ledger_meta WHERE name = $1`,
  values: [IDENTITY, PURGED_BEFORE],
};

export function readState([row]: readonly Row[]): LedgerState {
  return {
    id: String(row?.value ?? ''),
    sequence: Number(row?.sequence ?? 0),
    keptFrom: String(row?.kept_from ?? ''),
    youngestMs: row?.youngest_ms == null ? undefined : Number(row.youngest_ms),
  };
}

export const cursorQuery = (source: string): Query => ({
  text: 'SELECT cursor FROM ledger_cursors WHERE source = $1',
  values: [source],
});

export const putCursor = (source: string, cursor: string, nowMs: number): Query => ({
  text: `INSERT INTO ledger_cursors (source, cursor, at_ms) VALUES ($1, $2, $3)
    ON CONFLICT (source) DO UPDATE SET cursor = excluded.cursor, at_ms = excluded.at_ms`,
  values: [source, cursor, nowMs],
});

export const sinkQuery = (sink: string): Query => ({
  text: 'SELECT sequence FROM ledger_sinks WHERE name = $1',
  values: [sink],
});

/** Never backwards. */
export const putSink = (sink: string, sequence: number): Query => ({
  text: `INSERT INTO ledger_sinks (name, sequence) VALUES ($1, $2)
    ON CONFLICT (name) DO UPDATE SET sequence = excluded.sequence WHERE excluded.sequence > ledger_sinks.sequence`,
  values: [sink, sequence],
});

export const metaQuery = (name: string): Query => ({
  text: 'SELECT value FROM ledger_meta WHERE name = $1',
  values: [name],
});

export const putMeta = (name: string, value: string): Query => ({
  text: 'INSERT INTO ledger_meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
  values: [name, value],
});

export const asidesQuery = (limit: number): Query => ({
  text: 'SELECT source, at_ms, reason, line FROM ledger_asides ORDER BY at_ms DESC, digest LIMIT $1',
  values: [limit],
});
