// How does a whole ledger get out of its store, and into another one? A backup is a SQLite file with the same tables, whichever database
// it is of; tables are copied as they are, in one transaction.

import { rm } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import type { Client } from 'pg';
import type { StorePlace } from '../settings.ts';
import { openPostgresStore, POSTGRES_LOCK } from './postgres.ts';
import { SCHEMA_VERSION } from './schema.ts';
import { openSqliteStore } from './sqlite.ts';
import { openSqliteFile } from './sqlite-file.ts';
import { PURGED_BEFORE } from './state-queries.ts';

const TABLES = [
  'ledger_meta',
  'ledger_records',
  'ledger_daily',
  'ledger_spans',
  'ledger_first_contents',
  'ledger_key_days',
  'ledger_keys',
  'ledger_namespace_days',
  'ledger_namespaces',
  'ledger_cursors',
  'ledger_refusals',
  'ledger_refusal_windows',
  'ledger_refusal_spans',
  'ledger_asides',
  'ledger_sinks',
] as const;

/** The highest sequence that was given out, also to deleted records. */
const LAST_SEQUENCE = `SELECT MAX(sequence) AS last FROM
  (SELECT sequence FROM ledger_records UNION ALL SELECT sequence FROM ledger_keys) AS given`;

const pageRows = 2_000;

/** @param path of a new file. */
export async function copyOut(place: StorePlace, path: string): Promise<void> {
  if (place.type === 'sqlite') {
    using database = openCopy(place.path);
    // A single moment, while others read and write.
    database.prepare('VACUUM INTO ?').run(path);
    return;
  }
  openSqliteFile(path, false).close();
  using database = new DatabaseSync(path);
  await withClient(place.url, async (client) => {
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    database.exec('PRAGMA synchronous = OFF; BEGIN');
    for (const table of TABLES) {
      database.exec(`DELETE FROM ${table}`);
      await client.query(`DECLARE copied NO SCROLL CURSOR FOR SELECT * FROM ${table}`);
      for (;;) {
        const { rows, fields } = await client.query<string[]>({
          text: `FETCH ${pageRows} FROM copied`,
          rowMode: 'array',
        });
        const names = fields.map(({ name }) => name);
        const insert = database.prepare(
          `INSERT INTO ${table} (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})`,
        );
        for (const row of rows) insert.run(...row);
        if (rows.length < pageRows) break;
      }
      await client.query('CLOSE copied');
    }
    database.exec('COMMIT');
  });
  const last = Number(database.prepare(LAST_SEQUENCE).get()?.last ?? 0);
  database.prepare("DELETE FROM sqlite_sequence WHERE name = 'ledger_records'").run();
  database.prepare("INSERT INTO sqlite_sequence (name, seq) VALUES ('ledger_records', ?)").run(last);
  // One file, without what SQLite puts beside it.
  database.exec('PRAGMA journal_mode = DELETE');
}

/** Whether nothing was ever stored there; its tables are made where they are missing. */
export async function isEmpty(place: StorePlace): Promise<boolean> {
  if (place.type === 'sqlite') {
    await (await openSqliteStore(place.path)).close();
    using database = new DatabaseSync(place.path);
    return database.prepare('SELECT 1 FROM ledger_daily LIMIT 1').get() === undefined;
  }
  await (await openPostgresStore(place.url, () => {})).close();
  return await withClient(place.url, isWithoutRows);
}

/** @throws {Error} where anything was stored there before. */
export async function copyIn(path: string, place: StorePlace): Promise<void> {
  using source = openCopy(path);
  if (!(await isEmpty(place)))
    throw new Error('the ledger has records already. Import adds those of the file that it has not.');
  if (place.type === 'sqlite') {
    using database = new DatabaseSync(place.path, { timeout: 5_000 });
    database.prepare('ATTACH ? AS copy').run(path);
    database.exec('BEGIN IMMEDIATE');
    for (const table of [...TABLES, 'sqlite_sequence'])
      database.exec(`DELETE FROM main.${table}; INSERT INTO main.${table} SELECT * FROM copy.${table}`);
    database.exec('COMMIT');
    return;
  }
  await withClient(place.url, async (client) => {
    await client.query('BEGIN');
    await client.query(`SELECT pg_advisory_xact_lock(${POSTGRES_LOCK})`);
    if (!(await isWithoutRows(client))) throw new Error('the ledger has started to store records');
    await client.query('DELETE FROM ledger_meta');
    await client.query('DELETE FROM ledger_cursors');
    for (const table of TABLES) {
      const insert = `INSERT INTO ${table} OVERRIDING SYSTEM VALUE
        SELECT * FROM jsonb_populate_recordset(NULL::${table}, $1::jsonb)`;
      for (const page of pagesOf(source, table)) await client.query(insert, [JSON.stringify(page)]);
    }
    await client.query(
      `SELECT setval(pg_get_serial_sequence('ledger_records', 'sequence'), last) FROM (${LAST_SEQUENCE}) AS given WHERE last > 0`,
    );
    await client.query('COMMIT');
  });
}

/** Lines of records after a sequence, in order, and the sequence of the last one. */
export function* linesOf(
  path: string,
  after: number,
): Generator<{ readonly lines: readonly string[]; readonly last: number }> {
  using source = openCopy(path);
  const query = source.prepare(
    'SELECT sequence, line FROM ledger_records WHERE sequence > ? ORDER BY sequence LIMIT 1000',
  );
  for (let last = after; ; ) {
    const rows = query.all(last);
    if (rows.length === 0) return;
    last = Number(rows.at(-1)?.sequence);
    yield { lines: rows.map(({ line }) => String(line)), last };
  }
}

/** Lines of refusals, single ones and windows. */
export function* refusalLinesOf(path: string): Generator<readonly string[]> {
  using source = openCopy(path);
  for (const table of ['ledger_refusals', 'ledger_refusal_windows']) {
    const query = source.prepare(`SELECT id, line FROM ${table} WHERE id > ? ORDER BY id LIMIT 1000`);
    for (let last = ''; ; ) {
      const rows = query.all(last);
      if (rows.length === 0) break;
      last = String(rows.at(-1)?.id);
      yield rows.map(({ line }) => String(line));
    }
  }
}

interface CopyFacts {
  /** Identity of the copied ledger. */
  readonly identity: string;
  /** The day before which its records have gone; empty: none have. */
  readonly keptFrom: string;
  readonly lastSequence: number;
}

export function describeCopy(path: string): CopyFacts {
  using source = openCopy(path);
  const ask = source.prepare('SELECT value FROM ledger_meta WHERE name = ?');
  return {
    identity: String(ask.get('identity')?.value ?? ''),
    keptFrom: String(ask.get(PURGED_BEFORE)?.value ?? ''),
    lastSequence: Number(source.prepare(LAST_SEQUENCE).get()?.last ?? 0),
  };
}

/** @throws {Error} that names the file where it is no ledger of this version. */
function openCopy(path: string): DatabaseSync {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(path, { readOnly: true, timeout: 5_000 });
    const found = database.prepare("SELECT value FROM ledger_meta WHERE name = 'schema'").get();
    if (Number(found?.value) !== SCHEMA_VERSION)
      throw new Error(
        `its tables are of version ${found?.value}, this program has ${SCHEMA_VERSION}. Use the version of Penstock that wrote it`,
      );
    return database;
  } catch (error) {
    database?.close();
    throw new Error(`${path}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function* pagesOf(source: DatabaseSync, table: string): Generator<readonly object[]> {
  const query = source.prepare(`SELECT * FROM ${table}`);
  query.setReadBigInts(true);
  let page: object[] = [];
  for (const row of query.iterate()) {
    page.push(
      Object.fromEntries(
        Object.entries(row).map(([name, value]) => [name, typeof value === 'bigint' ? String(value) : value]),
      ),
    );
    if (page.length < pageRows) continue;
    yield page;
    page = [];
  }
  if (page.length > 0) yield page;
}

async function isWithoutRows(client: Client): Promise<boolean> {
  return (await client.query('SELECT 1 FROM ledger_daily LIMIT 1')).rows.length === 0;
}

async function withClient<T>(url: string, work: (client: Client) => Promise<T>): Promise<T> {
  const { default: pg } = await import('pg');
  const client = new pg.Client({ connectionString: url, application_name: 'penstock-ledger' });
  // Said besides failing what is in progress.
  client.on('error', () => {});
  try {
    await client.connect();
    return await work(client);
  } catch (error) {
    // Without what `pg` puts beside its message: details quote values.
    throw new Error(error instanceof Error ? error.message : 'Postgres: it failed');
  } finally {
    await client.end().catch(() => {});
  }
}

/** Removes an unfinished copy. */
export async function removeCopy(path: string): Promise<void> {
  for (const ending of ['', '-wal', '-shm', '-journal']) await rm(`${path}${ending}`, { force: true });
}
