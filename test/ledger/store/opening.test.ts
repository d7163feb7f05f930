// What does a program find where its ledger should be? Its own tables, older ones, newer ones, or something else.

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import pg from 'pg';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openPostgresStore } from '../../../ledger/store/postgres.ts';
import { migrationsFrom, SCHEMA_VERSION } from '../../../ledger/store/schema.ts';
import { openSqliteStore } from '../../../ledger/store/sqlite.ts';
import { makeEntry } from '../make-entry.ts';
import { startPostgres } from '../postgres.ts';

let folder: string;
let path: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'penstock-ledger-'));
  path = join(folder, 'ledger.sqlite');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

function edit(sql: string): void {
  const database = new DatabaseSync(path);
  database.exec(sql);
  database.close();
}

test('tables of a newer program are refused, with the remedy, and not changed', async () => {
  await (await openSqliteStore(path)).close();
  edit("UPDATE ledger_meta SET value = '99' WHERE name = 'schema'");
  await expect(openSqliteStore(path)).rejects.toThrow(
    /ledger\.sqlite: .*version 99.*up to 7; run the version/,
  );
  const database = new DatabaseSync(path);
  expect(database.prepare('SELECT value FROM ledger_meta').get()).toEqual({ value: '99' });
  database.close();
});

test('a database of another program is refused', async () => {
  edit('CREATE TABLE shopping (item TEXT)');
  await expect(openSqliteStore(path)).rejects.toThrow(/database of something else/);
});

test('a file that is no database is refused, and named', async () => {
  await writeFile(path, 'x'.repeat(4_096));
  await expect(openSqliteStore(path)).rejects.toThrow(/ledger\.sqlite: file is not a database/);
});

test('a file that another process is writing is opened after that', async () => {
  const other = new DatabaseSync(path);
  other.exec(
    'CREATE TABLE ledger_meta (name TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL); BEGIN IMMEDIATE',
  );
  const opening = openSqliteStore(path);
  const isSettled = opening.then(
    () => true,
    () => true,
  );
  // Begun later, with more to do.
  const later = await openSqliteStore(join(folder, 'other.sqlite'));
  expect(await Promise.race([isSettled, false])).toBe(false);
  other.exec('COMMIT');
  other.close();
  await (await opening).close();
  await later.close();
});

test('tables of each known version can be migrated, and unknown versions are refused', () => {
  expect(migrationsFrom(undefined, 'sqlite').length).toBeGreaterThan(0);
  expect(migrationsFrom(String(SCHEMA_VERSION), 'sqlite')).toEqual([]);
  for (const odd of ['-1', '1.5', 'x']) {
    expect(() => migrationsFrom(odd, 'postgres')).toThrow(/version/);
  }
});

test('a thread that ends fails all waiting and later calls', async () => {
  const store = await openSqliteStore(path);
  await store.close();
  await expect(
    store.take({ source: 'p', cursor: 'c', entries: [makeEntry()], asides: [] }, 0),
  ).rejects.toThrow(/is closed/);
});

test('tables in Postgres are migrated, however long a statement takes', async () => {
  const server = await startPostgres();
  try {
    const place = await server.createDatabase('ledger');
    const client = new pg.Client({ connectionString: place });
    await client.connect();
    await client.query(`CREATE FUNCTION linger() RETURNS event_trigger LANGUAGE plpgsql
      AS $$ BEGIN PERFORM pg_sleep(0.6); END $$`);
    await client.query(
      "CREATE EVENT TRIGGER linger ON ddl_command_start WHEN TAG IN ('DROP INDEX') EXECUTE FUNCTION linger()",
    );
    await client.end();
    // Of the writer, whose own timeout is a minute.
    const store = await openPostgresStore(`${place}?statement_timeout=300`, () => {});
    await store.close();
  } finally {
    await server.close();
  }
});

test('a missing Postgres is reported without the password in its address', async () => {
  const opening = openPostgresStore('postgres://penstock:canary-word@127.0.0.1:1/ledger', () => {});
  const error: unknown = await opening.catch((reason: unknown) => reason);
  expect(String(error)).toMatch(/Postgres: .*ECONNREFUSED/);
  expect(String(error)).not.toContain('canary-word');
});
