// What does one connection to a SQLite ledger do? Everything here is synchronous, and so runs in a worker thread.

import { randomUUID } from 'node:crypto';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { markQuery, sumUpserts, upsertRefusals, valuesOf } from './add-queries.ts';
import { dayOf } from './day-of.ts';
import {
  purgeAsides,
  purgeCursors,
  purgeExcessRefusals,
  purgeFirstContents,
  purgeHours,
  purgeRecords,
  purgeRefusalSums,
  purgeRefusals,
} from './purge-queries.ts';
import type { Query, Row, Value } from './query.ts';
import { addRefusals, REFUSAL_COLUMNS, WINDOW_COLUMNS, type WindowRow } from './refusal-rows.ts';
import { rollUp } from './roll-up.ts';
import { type AddedRow, digestOf, type PageRows, RECORD_COLUMNS } from './row.ts';
import { META_TABLE, migrationsFrom, SCHEMA_VERSION } from './schema.ts';
import {
  keepIdentity,
  metaQuery,
  PURGED_BEFORE,
  putCursor,
  raisePurgedBefore,
  readPurgedBefore,
} from './state-queries.ts';
import { type Aside, PURGED_REASON, type PurgeOptions, type Taken } from './store.ts';

export interface SqliteFile {
  /** Why it is slower than it could be, for people; undefined: it is not. */
  slowness(): string | undefined;
  /** All of them or none; gives what came of each. */
  take(pages: readonly PageRows[], nowMs: number): Taken[];
  query(query: Query): Row[];
  run(query: Query): void;
  /** A piece of what is to go; gives how many went. Fewer than `limit` of each: all have gone. */
  purgePiece(options: PurgeOptions, limit: number): Purged;
  close(): void;
}

type Purged = Readonly<
  Record<
    | 'records'
    | 'asides'
    | 'hours'
    | 'firstContents'
    | 'refusals'
    | 'excessRefusals'
    | 'refusalWindows'
    | 'refusalSums',
    number
  >
>;

/** Wait for other processes that lock the file, such as a shell of an administrator. */
const busyMs = 5_000;
/** Pages of the file given back at a time. */
const vacuumPages = 2_000;

/** @throws {Error} that names the file if it is not a ledger, or was written by a newer release. */
export function openSqliteFile(path: string, isReader: boolean): SqliteFile {
  const database = new DatabaseSync(path, { timeout: busyMs, readOnly: isReader });
  let slowness: string | undefined;
  try {
    if (!isReader) slowness = prepareFile(database);
    // A container has no folder that it can write to but that of the file.
    database.exec('PRAGMA temp_store = MEMORY');
    // Pages of the indexes change in every step: the longer they stay in memory and in the log, the fewer times are they written.
    if (!isReader) database.exec('PRAGMA cache_size = -32000; PRAGMA wal_autocheckpoint = 16000');
  } catch (error) {
    database.close();
    throw new Error(`${path}: ${error instanceof Error ? error.message : String(error)}`);
  }
  const statements = new Map<string, StatementSync>();
  const prepare = (text: string): StatementSync => {
    const known = statements.get(text);
    if (known !== undefined) return known;
    const statement = database.prepare(text.replaceAll(/\$(\d+)/g, '?$1'));
    statement.setReadBigInts(true);
    statements.set(text, statement);
    return statement;
  };
  const query = ({ text, values }: Query): Row[] => prepare(text).all(...values.map(bound));
  const run = ({ text, values }: Query) => prepare(text).run(...values.map(bound));

  return {
    slowness: () => slowness,
    query,
    run: (query) => void run(query),
    take: (pages, nowMs) => inTransaction(database, () => takePages(prepare, query, run, pages, nowMs)),
    purgePiece(options, limit) {
      const { before, upTo = Number.MAX_SAFE_INTEGER, refusalsKept = Number.MAX_SAFE_INTEGER } = options;
      const { silentSinceMs, nowMs } = options;
      const gone = inTransaction(database, () => {
        // In the same step: what goes now is never taken for new when it comes again.
        const raise = raisePurgedBefore(query(metaQuery(PURGED_BEFORE)), before, nowMs);
        if (raise !== undefined) run(raise);
        run(purgeCursors(silentSinceMs));
        return {
          records: Number(run(purgeRecords(before, upTo, limit)).changes),
          asides: Number(run(purgeAsides(before, limit)).changes),
          hours: Number(run(purgeHours(before, limit)).changes),
          firstContents: Number(run(purgeFirstContents(before, limit)).changes),
          refusals: Number(run(purgeRefusals('ledger_refusals', before, limit)).changes),
          excessRefusals: Number(run(purgeExcessRefusals(refusalsKept, limit)).changes),
          refusalWindows: Number(run(purgeRefusals('ledger_refusal_windows', before, limit)).changes),
          refusalSums: Number(run(purgeRefusalSums(before, limit)).changes),
        };
      });
      database.exec(`PRAGMA incremental_vacuum(${vacuumPages})`);
      return gone;
    },
    close: () => database.close(),
  };
}

/** Gives why it is slow, where it is. */
function prepareFile(database: DatabaseSync): string | undefined {
  const tables = database.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all();
  const names = tables.map(({ name }) => String(name)).filter((name) => !name.startsWith('sqlite_'));
  if (names.length > 0 && !names.includes('ledger_meta'))
    throw new Error('this is a database of something else; name another file');
  // Only before the first table is made; it lets the room of old records go.
  if (names.length === 0) database.exec('PRAGMA auto_vacuum = INCREMENTAL');
  const slowness = openJournal(database);
  // Gateways delete committed records from their disks, so a commit has to outlive a crash of the node too.
  database.exec('PRAGMA synchronous = FULL');
  inTransaction(database, () => {
    database.exec(META_TABLE);
    const found = database.prepare("SELECT value FROM ledger_meta WHERE name = 'schema'").get();
    for (const text of migrationsFrom(found === undefined ? undefined : String(found.value), 'sqlite'))
      database.exec(text);
    database
      .prepare("INSERT INTO ledger_meta VALUES ('schema', ?1) ON CONFLICT (name) DO UPDATE SET value = ?1")
      .run(String(SCHEMA_VERSION));
    const { text, values } = keepIdentity(randomUUID());
    database.prepare(text.replaceAll(/\$(\d+)/g, '?$1')).run(...values);
  });
  return slowness;
}

const otherVolume = 'Give it a volume of block or local storage, or Postgres';

/**
 * SQLite answers with the journal that it has, and not with an error: a write-ahead log needs memory that processes share, which not every
 * file system has. A rollback journal is as safe, with the one writer that there is; it and readers wait for each other.
 *
 * @throws {Error} where neither can be had: a crash would cost the whole file.
 */
function openJournal(database: DatabaseSync): string | undefined {
  const ask = (mode: string): string =>
    String(whenFree(database, () => database.prepare(`PRAGMA journal_mode = ${mode}`).get())?.journal_mode);
  if (ask('WAL') === 'wal') return undefined;
  const mode = ask('DELETE');
  if (mode !== 'delete')
    throw new Error(`its file system allows no journal on disk (SQLite answers '${mode}'). ${otherVolume}.`);
  return `its file system has no shared memory for a write-ahead log, so reads and writes wait for each other. ${otherVolume}.`;
}

/** For what SQLite refuses at once, whatever its timeout, while another process writes: two that start with a new file meet there. */
function whenFree<T>(database: DatabaseSync, work: () => T): T {
  for (let left = busyTries; ; left -= 1) {
    try {
      return work();
    } catch (error) {
      if (left === 0 || !isBusy(error)) throw error;
      // Waits for its turn.
      database.exec('BEGIN IMMEDIATE; COMMIT');
    }
  }
}

const busyTries = 5;

function isBusy(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && error.errcode === 5;
}

function takePages(
  prepare: (text: string) => StatementSync,
  query: (query: Query) => Row[],
  run: (query: Query) => ReturnType<StatementSync['run']>,
  pages: readonly PageRows[],
  nowMs: number,
): Taken[] {
  const purgedBefore = readPurgedBefore(query(metaQuery(PURGED_BEFORE)), nowMs);
  const insert = prepare(insertRecord);
  const added: AddedRow[] = [];
  const windows: WindowRow[] = [];
  const taken = pages.map((page): Taken => {
    const { source, cursor, rows, asides } = page;
    const addedBefore = added.length;
    const late: Aside[] = [];
    for (const row of rows) {
      if (row.day < purgedBefore) {
        late.push({ line: row.line, reason: PURGED_REASON });
        continue;
      }
      // Numbers as they are: the columns are strict, and make the whole numbers of them that they were.
      const { changes, lastInsertRowid } = insert.run(...RECORD_COLUMNS.map((name) => row[name]));
      // guard: record-counted-once
      if (Number(changes) > 0) added.push({ ...row, sequence: Number(lastInsertRowid) });
    }
    let putAside = 0;
    for (const { line, reason } of [...asides, ...late]) {
      const values = [digestOf(source, line), source, nowMs, reason, line];
      putAside += Number(prepare(insertAside).run(...values.map(bound)).changes);
    }
    const isInTime = ({ at_ms }: { readonly at_ms: number }) => dayOf(at_ms) >= purgedBefore;
    for (const row of page.refusals.filter(isInTime))
      prepare(insertRefusal).run(...REFUSAL_COLUMNS.map((name) => bound(row[name])));
    for (const window of page.windows.filter(isInTime)) {
      const { changes } = prepare(insertWindow).run(...WINDOW_COLUMNS.map((name) => bound(window[name])));
      // guard: refusals-counted-once
      if (Number(changes) > 0) windows.push(window);
    }
    run(putCursor(source, cursor, nowMs));
    const newRows = added.length - addedBefore;
    return { added: newRows, duplicates: rows.length - newRows - late.length, asides: putAside };
  });
  const marks = markQuery('sqlite', added);
  if (marks !== undefined) run(marks);
  const sums = rollUp(added);
  for (const { text, columns, rowsOf } of upserts) putAll(prepare(text), rowsOf(sums), columns);
  putAll(prepare(refusalUpsert.text), addRefusals(windows), refusalUpsert.columns);
  return taken;
}

const places = (count: number): string => Array.from({ length: count }, (_, at) => `$${at + 1}`).join(', ');
const insertRecord = `INSERT INTO ledger_records (${RECORD_COLUMNS.join(', ')})
  VALUES (${places(RECORD_COLUMNS.length)}) ON CONFLICT (id) DO NOTHING`;
const insertAside = `INSERT INTO ledger_asides (digest, source, at_ms, reason, line) VALUES (${places(5)})
  ON CONFLICT (digest) DO NOTHING`;
const insertRefusal = `INSERT INTO ledger_refusals (${REFUSAL_COLUMNS.join(', ')})
  VALUES (${places(REFUSAL_COLUMNS.length)}) ON CONFLICT (id) DO NOTHING`;
const insertWindow = `INSERT INTO ledger_refusal_windows (${WINDOW_COLUMNS.join(', ')})
  VALUES (${places(WINDOW_COLUMNS.length)}) ON CONFLICT (id) DO NOTHING`;
const placesOf = (columns: readonly string[]) => `VALUES (${places(columns.length)})`;
const upserts = sumUpserts(placesOf);
const refusalUpsert = upsertRefusals(placesOf);

function putAll(
  statement: StatementSync,
  rows: readonly Readonly<Record<string, Value>>[],
  columns: readonly string[],
): void {
  for (const row of rows) statement.run(...valuesOf(row, columns).map(bound));
}

/** As a number it would be bound as a float. */
function bound(value: Value): string | bigint {
  return typeof value === 'number' ? BigInt(value) : value;
}

function inTransaction<T>(database: DatabaseSync, work: () => T): T {
  database.exec('BEGIN IMMEDIATE');
  try {
    const result = work();
    database.exec('COMMIT');
    return result;
  } catch (error) {
    // After an error such as a full disk, SQLite has already rolled back.
    if (database.isTransaction) database.exec('ROLLBACK');
    throw error;
  }
}
