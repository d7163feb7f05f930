// Which tables does a ledger have, and which version of them? Both databases have the same; types are what each calls them.

import { FURTHER_ANSWERED, markText, UNANSWERED } from './last-attempts.ts';
import { REFUSAL_KEYS } from './refusal-rows.ts';
import { ALL, DAILY_KEYS, MEASURES, SPAN_KEYS, SPEND_MEASURES, TWO_DIGIT_STEPS } from './row.ts';

export type DatabaseKind = 'sqlite' | 'postgres';

/** Of the tables. Raised with every entry of `migrations`. */
export const SCHEMA_VERSION = 7;

/** As they were in version 1. */
const keyMeasures1 = ['requests', 'input', 'output', 'unpriced', 'cost_high', 'cost_low'];

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
      `CREATE TABLE ledger_key_days (api_key TEXT NOT NULL, day TEXT NOT NULL, ${list(keyMeasures1, number)},
        PRIMARY KEY (api_key, day))${endByKey}`,
      `CREATE TABLE ledger_keys (api_key TEXT PRIMARY KEY NOT NULL, last_used_ms ${number} NOT NULL,
        sequence ${number} NOT NULL, ${list(keyMeasures1, number)})${endByKey}`,
      'CREATE INDEX ledger_keys_by_sequence ON ledger_keys (sequence)',
      `CREATE TABLE ledger_cursors (source TEXT PRIMARY KEY NOT NULL, cursor TEXT NOT NULL,
        at_ms ${number} NOT NULL)${endByKey}`,
      `CREATE TABLE ledger_asides (digest TEXT PRIMARY KEY NOT NULL, source TEXT NOT NULL, at_ms ${number} NOT NULL,
        reason TEXT NOT NULL, line TEXT NOT NULL)${endByKey}`,
      `CREATE TABLE ledger_sinks (name TEXT PRIMARY KEY NOT NULL, sequence ${number} NOT NULL)${endByKey}`,
    ];
  },
  // Cached tokens of keys, and sums of namespaces: made out of the sums by day, which nothing has gone from.
  (kind) => {
    const number = kind === 'sqlite' ? 'INTEGER' : 'BIGINT';
    const endByKey = kind === 'sqlite' ? ' STRICT, WITHOUT ROWID' : '';
    const delivered = (name: string) => `SUM(CASE WHEN payer <> 'platform' THEN ${name} ELSE 0 END)`;
    const paid = (name: string) => `SUM(CASE WHEN payer = 'tenant' THEN ${name} ELSE 0 END)`;
    const use = [
      'SUM(requests)',
      ...['input', 'cached_input', 'output'].map(delivered),
      ...['unpriced', 'cost_high', 'cost_low'].map(paid),
    ];
    const measures = SPEND_MEASURES.join(', ');
    return [
      `ALTER TABLE ledger_key_days ADD COLUMN cached_input ${number} NOT NULL DEFAULT 0`,
      `ALTER TABLE ledger_keys ADD COLUMN cached_input ${number} NOT NULL DEFAULT 0`,
      `UPDATE ledger_key_days SET cached_input = d.sum FROM
        (SELECT api_key, day, ${delivered('cached_input')} AS sum FROM ledger_daily GROUP BY api_key, day) AS d
        WHERE d.api_key = ledger_key_days.api_key AND d.day = ledger_key_days.day`,
      `UPDATE ledger_keys SET cached_input = d.sum FROM
        (SELECT api_key, SUM(cached_input) AS sum FROM ledger_key_days GROUP BY api_key) AS d
        WHERE d.api_key = ledger_keys.api_key`,
      `CREATE TABLE ledger_namespace_days (namespace TEXT NOT NULL, day TEXT NOT NULL,
        ${list(SPEND_MEASURES, number)}, PRIMARY KEY (namespace, day))${endByKey}`,
      `CREATE TABLE ledger_namespaces (namespace TEXT PRIMARY KEY NOT NULL, last_used_ms ${number} NOT NULL,
        sequence ${number} NOT NULL, ${list(SPEND_MEASURES, number)})${endByKey}`,
      'CREATE INDEX ledger_namespaces_by_sequence ON ledger_namespaces (sequence)',
      `INSERT INTO ledger_namespace_days (namespace, day, ${measures})
        SELECT namespace, day, ${use.join(', ')} FROM ledger_daily GROUP BY namespace, day`,
      `INSERT INTO ledger_namespaces (namespace, last_used_ms, sequence, ${measures})
        SELECT s.namespace, u.last_used_ms, u.sequence, ${SPEND_MEASURES.map((name) => `s.${name}`).join(', ')} FROM
          (SELECT namespace, ${SPEND_MEASURES.map((name) => `SUM(${name}) AS ${name}`).join(', ')}
            FROM ledger_namespace_days GROUP BY namespace) AS s
          JOIN (SELECT d.namespace, MAX(k.last_used_ms) AS last_used_ms, MAX(k.sequence) AS sequence
            FROM (SELECT DISTINCT namespace, api_key FROM ledger_daily) AS d
            JOIN ledger_keys AS k ON k.api_key = d.api_key GROUP BY d.namespace) AS u
          ON u.namespace = s.namespace`,
    ];
  },
  // How requests ended, how long their first words took, and when lines were put aside. Of records that were there before, only the outcome is known.
  (kind) => {
    const number = kind === 'sqlite' ? 'INTEGER' : 'BIGINT';
    return [
      "ALTER TABLE ledger_records ADD COLUMN failure TEXT NOT NULL DEFAULT ''",
      `ALTER TABLE ledger_records ADD COLUMN first_content_ms ${number} NOT NULL DEFAULT -1`,
      // The few that are looked at one by one are found without the many.
      "CREATE INDEX ledger_records_unanswered ON ledger_records (day) WHERE outcome <> 'answered'",
      `CREATE INDEX ledger_records_first_content ON ledger_records (day, namespace, hour, first_content_ms)
        WHERE first_content_ms >= 0`,
      // Lines put aside go when they are old, and the newest are shown.
      'CREATE INDEX ledger_asides_by_time ON ledger_asides (at_ms)',
    ];
  },
  // Sums of hours, and of days without keys; records by the moment that they began at, and the last of each request. Days are made out of the sums by day, which nothing
  // has gone from.
  (kind) => {
    const number = kind === 'sqlite' ? 'INTEGER' : 'BIGINT';
    const endByKey = kind === 'sqlite' ? ' STRICT, WITHOUT ROWID' : '';
    const latest = ['last_ms', 'last_sequence'];
    const keys = SPAN_KEYS.slice(2).join(', ');
    const sums = MEASURES.map((name) => `SUM(${name})`).join(', ');
    const into = `INSERT INTO ledger_spans (${SPAN_KEYS.join(', ')}, ${MEASURES.join(', ')}, ${latest.join(', ')})`;
    const newest = 'MAX(last_ms), MAX(last_sequence)';
    const isHour = 'LENGTH(span) > 10';
    const firstContents = (span: string) =>
      `INSERT INTO ledger_first_contents (span, ms, answers) SELECT ${span}, ${twoDigits}, COUNT(*)
        FROM ledger_records WHERE first_content_ms >= 0 GROUP BY ${span}, ${twoDigits}`;
    return [
      `CREATE TABLE ledger_spans (${list(SPAN_KEYS, 'TEXT')}, ${list([...MEASURES, ...latest], number)},
        PRIMARY KEY (${SPAN_KEYS.join(', ')}))${endByKey}`,
      `${into} SELECT hour, namespace, ${keys}, ${sums}, MAX(started_ms), MAX(sequence)
        FROM ledger_records GROUP BY hour, namespace, ${keys}`,
      `${into} SELECT day, namespace, ${keys}, ${sums}, 0, 0 FROM ledger_daily GROUP BY day, namespace, ${keys}`,
      `UPDATE ledger_spans SET last_ms = h.last_ms, last_sequence = h.last_sequence FROM
        (SELECT SUBSTR(span, 1, 10) AS day, namespace, ${keys}, MAX(last_ms) AS last_ms, MAX(last_sequence) AS last_sequence
          FROM ledger_spans WHERE ${isHour} GROUP BY SUBSTR(span, 1, 10), namespace, ${keys}) AS h
        WHERE ledger_spans.span = h.day AND ${[...SPAN_KEYS.slice(1)].map((name) => `ledger_spans.${name} = h.${name}`).join(' AND ')}`,
      `${into} SELECT span, '${ALL}', ${keys}, ${sums}, ${newest} FROM ledger_spans GROUP BY span, ${keys}`,
      `CREATE TABLE ledger_first_contents (span TEXT NOT NULL, ms ${number} NOT NULL, answers ${number} NOT NULL,
        PRIMARY KEY (span, ms))${endByKey}`,
      firstContents('hour'),
      firstContents('day'),
      'DROP INDEX ledger_records_by_day',
      'CREATE INDEX ledger_records_by_time ON ledger_records (started_ms)',
      `ALTER TABLE ledger_records ADD COLUMN is_last ${number} NOT NULL DEFAULT 1`,
      // Found by the index that goes.
      markText(),
      'DROP INDEX ledger_records_unanswered',
      `CREATE INDEX ledger_records_unanswered ON ledger_records (started_ms, namespace, outcome, failure, id)
        WHERE ${UNANSWERED}`,
      'DROP INDEX ledger_records_first_content',
      `CREATE INDEX ledger_records_first_content ON ledger_records (namespace, started_ms, first_content_ms)
        WHERE first_content_ms >= 0`,
    ];
  },
  // Which request a further attempt answered last: they are few, and stand among all the others.
  () => [
    `CREATE INDEX ledger_records_failovers ON ledger_records (route, started_ms) WHERE ${FURTHER_ANSWERED}`,
  ],
  // Requests that gateways refused: single ones, the windows whose counts are in the sums, and the sums.
  (kind) => {
    const number = kind === 'sqlite' ? 'INTEGER' : 'BIGINT';
    const endByKey = kind === 'sqlite' ? ' STRICT, WITHOUT ROWID' : '';
    const typeOf = (name: string) => (name === 'status' ? number : 'TEXT');
    const keys = REFUSAL_KEYS.map((name) => `${name} ${typeOf(name)} NOT NULL`).join(', ');
    return [
      `CREATE TABLE ledger_refusals (id TEXT PRIMARY KEY NOT NULL, at_ms ${number} NOT NULL, namespace TEXT NOT NULL,
        api_key TEXT NOT NULL, model TEXT NOT NULL, status ${number} NOT NULL, code TEXT NOT NULL,
        line TEXT NOT NULL)${endByKey}`,
      'CREATE INDEX ledger_refusals_by_time ON ledger_refusals (at_ms, id)',
      'CREATE INDEX ledger_refusals_by_namespace ON ledger_refusals (namespace, at_ms, id)',
      `CREATE TABLE ledger_refusal_windows (id TEXT PRIMARY KEY NOT NULL, at_ms ${number} NOT NULL,
        line TEXT NOT NULL)${endByKey}`,
      'CREATE INDEX ledger_refusal_windows_by_time ON ledger_refusal_windows (at_ms)',
      `CREATE TABLE ledger_refusal_spans (${keys}, refused ${number} NOT NULL,
        PRIMARY KEY (${REFUSAL_KEYS.join(', ')}))${endByKey}`,
    ];
  },
  // Single requests of a key, newest first; sums say in which hours those of a model, a provider or a namespace are (`log-hours.ts`). Each index
  // of records costs every record that is taken in.
  () => [
    'CREATE INDEX ledger_records_by_api_key ON ledger_records (api_key, started_ms)',
    // What else may be asked of them is in the index too: rows are found and counted without a look at each refusal.
    ...[
      ['api_key', 'namespace, model, status, code'],
      ['model', 'namespace, status, code'],
      ['status', 'namespace, code'],
      ['code', 'namespace'],
    ].map(
      ([column, others]) =>
        `CREATE INDEX ledger_refusals_by_${column} ON ledger_refusals (${column}, at_ms, id, ${others})`,
    ),
  ],
];

const twoDigits = `CASE ${TWO_DIGIT_STEPS.map(
  (step) => `WHEN first_content_ms < ${step * 100} THEN first_content_ms - first_content_ms % ${step}`,
).join(' ')} ELSE first_content_ms - first_content_ms % 100000 END`;

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
