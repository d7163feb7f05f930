// Which tables does a ledger have, and which version of them? Both databases have the same; types are what each calls them.

import { DAILY_KEYS, KEY_MEASURES, MEASURES } from './row.ts';

export type DatabaseKind = 'sqlite' | 'postgres';

/** Of the tables. Raised with every entry of `migrations`. */
export const SCHEMA_VERSION = 1;

const list = (names: readonly string[], type: string): string =>
  names.map((name) => `${name} ${type} NOT NULL`).join(', ');

/** From no tables to version 1, from 1 to 2, and so on. */
const migrations: readonly ((kind: DatabaseKind) => readonly string[])[] = [
  (kind) => {
    const number = kind === 'sqlite' ? 'INTEGER' : 'BIGINT';
    const serial =
      kind === 'sqlite'
        ? 'INTEGER PRIMARY KEY AUTOINCREMENT'
        : 'BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY';
    const end = kind === 'sqlite' ? ' STRICT' : '';
    const endByKey = kind === 'sqlite' ? ' STRICT, WITHOUT ROWID' : '';
    return [
      `CREATE TABLE ledger_records (sequence ${serial}, id TEXT NOT NULL UNIQUE, started_ms ${number} NOT NULL,
        hour TEXT NOT NULL, ${list(DAILY_KEYS, 'TEXT')}, ${list(MEASURES, number)}, line TEXT NOT NULL)${end}`,
      'CREATE INDEX ledger_records_by_day ON ledger_records (day)',
      `CREATE TABLE ledger_daily (${list(DAILY_KEYS, 'TEXT')}, ${list(MEASURES, number)},
        PRIMARY KEY (${DAILY_KEYS.join(', ')}))${endByKey}`,
      `CREATE TABLE ledger_key_days (api_key TEXT NOT NULL, day TEXT NOT NULL, ${list(KEY_MEASURES, number)},
        PRIMARY KEY (api_key, day))${endByKey}`,
      `CREATE TABLE ledger_keys (api_key TEXT PRIMARY KEY NOT NULL, last_used_ms ${number} NOT NULL,
        sequence ${number} NOT NULL, ${list(KEY_MEASURES, number)})${endByKey}`,
      'CREATE INDEX ledger_keys_by_sequence ON ledger_keys (sequence)',
      `CREATE TABLE ledger_cursors (source TEXT PRIMARY KEY NOT NULL, cursor TEXT NOT NULL,
        at_ms ${number} NOT NULL)${endByKey}`,
      `CREATE TABLE ledger_asides (digest TEXT PRIMARY KEY NOT NULL, source TEXT NOT NULL, at_ms ${number} NOT NULL,
        reason TEXT NOT NULL, line TEXT NOT NULL)${endByKey}`,
      `CREATE TABLE ledger_sinks (name TEXT PRIMARY KEY NOT NULL, sequence ${number} NOT NULL)${endByKey}`,
    ];
  },
];

/** Before all else, and repeatable. */
export const META_TABLE =
  'CREATE TABLE IF NOT EXISTS ledger_meta (name TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL)';

/**
 * What brings tables of a version up to date; nothing where they are.
 *
 * @param found Of the tables; undefined: there are none.
 * @throws {Error} where a newer program wrote them.
 */
export function migrationsFrom(found: string | undefined, kind: DatabaseKind): readonly string[] {
  const version = found === undefined ? 0 : Number(found);
  if (!Number.isInteger(version) || version < 0 || version > SCHEMA_VERSION)
    throw new Error(
      `the ledger's tables are of version ${found}, this program knows up to ${SCHEMA_VERSION}; run the version of Penstock that wrote them, or a newer one`,
    );
  return migrations.slice(version).flatMap((migrate) => migrate(kind));
}
