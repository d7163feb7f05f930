// The ledger in Postgres. Every writer holds a lock: sequences are in the order of commits, so a reader by sequence misses no record, also
// while an import writes beside the leading ledger.

import { randomUUID } from 'node:crypto';
import type { Client, Pool } from 'pg';
import { Semaphore } from '../semaphore.ts';
import { markQuery, sumUpserts, upsertRefusals } from './add-queries.ts';
import { dayOf } from './day-of.ts';
import { inGroups } from './in-groups.ts';
import { type Leadership, leadPostgres } from './lead-postgres.ts';
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
import type { Query, Row } from './query.ts';
import { readingOf } from './reading.ts';
import { addRefusals, REFUSAL_COLUMNS, REFUSAL_KEYS, WINDOW_COLUMNS } from './refusal-rows.ts';
import { rollUp } from './roll-up.ts';
import {
  type AddedRow,
  type Arrival,
  DAILY_KEYS,
  digestOf,
  type PageRows,
  pageRows,
  RECORD_COLUMNS,
  SPAN_KEYS,
} from './row.ts';
import { META_TABLE, migrationsFrom, SCHEMA_VERSION } from './schema.ts';
import {
  cursorQuery,
  keepIdentity,
  metaQuery,
  PURGED_BEFORE,
  putCursor,
  putMeta,
  putSink,
  raisePurgedBefore,
  readPurgedBefore,
  sinkQuery,
} from './state-queries.ts';
import { type LedgerStore, PURGED_REASON, type Taken } from './store.ts';

/** Ours among the advisory locks of the database: the first eight letters of the name. */
export const POSTGRES_LOCK = Buffer.from('penstock').readBigInt64BE().toString();
const connectMs = 5_000;
const writeMs = 60_000;
const readMs = 30_000;
const readersMax = 4;
const purgeLimit = 5_000;

interface QueuedPool {
  readonly pool: Pool;
  /** Limits connections: the pool itself would report a caller's wait for a free connection as an unreachable database. */
  readonly queue: Semaphore;
}

/**
 * @param url `postgres://user:password@host:port/database`, with `sslmode` as libpq has it.
 * @param onError An idle connection broke; the next question opens another.
 * @throws {Error} where it cannot be reached, or its tables are of a newer program. Never with the address: it holds a password.
 */
export async function openPostgresStore(
  url: string,
  onError: (reason: string) => void,
): Promise<LedgerStore> {
  // Loaded where it is wanted: most installations have no Postgres.
  const { default: pg } = await import('pg');
  const common = {
    connectionString: url,
    connectionTimeoutMillis: connectMs,
    application_name: 'penstock-ledger',
    keepAlive: true,
  };
  const open = (max: number, statement_timeout: number): QueuedPool => {
    const pool = new pg.Pool({ ...common, max, statement_timeout });
    pool.on('error', (error) => onError(reasonOf(error)));
    return { pool, queue: new Semaphore(max) };
  };
  const writers = open(1, writeMs);
  const readers = open(readersMax, readMs);
  const spendReaders = open(1, readMs);
  const end = async (): Promise<void> => {
    await Promise.all([writers, readers, spendReaders].map(({ pool }) => pool.end()));
  };
  const rowsOf =
    ({ pool, queue }: QueuedPool) =>
    async ({ text, values }: Query): Promise<Row[]> => {
      const { rows } = await queue.run(() => pool.query<Row>(text, [...values])).catch(rethrow);
      return rows;
    };
  const rows = rowsOf(readers);
  let leadership: Leadership | undefined;
  /** Over the connection that leads, where this one takes part in the election. */
  const write = async <T>(work: (run: Run) => Promise<T>): Promise<T> => {
    if (leadership === undefined) return await inTransaction(writers, work);
    const current = leadership;
    return await writers.queue.run(async () => {
      const client = current.client();
      // guard: only-leader-writes
      if (client === undefined) throw new Error('another ledger leads, or none can');
      return await transactAsLeader(client, work);
    });
  };

  const take = inGroups<Arrival, Taken>((arrivals) => {
    const pages = arrivals.map(({ page }) => page);
    return write((run) => takePages(run, pages, Math.max(...arrivals.map(({ nowMs }) => nowMs))));
  });

  try {
    await inTransaction(writers, async (run) => {
      // An index over many records takes longer than a statement may otherwise.
      await run({ text: 'SET LOCAL statement_timeout = 0', values: [] });
      // Two that start at once would both make what is missing; the lock is taken already.
      await run({ text: META_TABLE, values: [] });
      const [found] = await run(metaQuery('schema'));
      for (const text of migrationsFrom(found === undefined ? undefined : String(found.value), 'postgres'))
        await run({ text, values: [] });
      await run(putMeta('schema', String(SCHEMA_VERSION)));
      await run(keepIdentity(randomUUID()));
    });
  } catch (error) {
    await end();
    throw error;
  }

  return {
    lead(duty) {
      const openLeader = () =>
        // A server that has vanished answers nothing at all.
        new pg.Client({ ...common, statement_timeout: writeMs, query_timeout: writeMs + connectMs });
      const current = leadPostgres(openLeader, duty);
      leadership = current;
      return current;
    },
    async cursorOf(source) {
      const [row] = await rows(cursorQuery(source));
      return row === undefined ? undefined : String(row.cursor);
    },
    take: (page, nowMs) => take({ page: pageRows(page), nowMs }),
    ...readingOf('postgres', rows),
    spend: readingOf('postgres', rowsOf(spendReaders)),
    async sinkCursor(sink) {
      const [row] = await rows(sinkQuery(sink));
      return Number(row?.sequence ?? 0);
    },
    async setSinkCursor(sink, sequence) {
      await write((run) => run(putSink(sink, sequence)));
    },
    async purge({
      before,
      upTo = Number.MAX_SAFE_INTEGER,
      refusalsKept = Number.MAX_SAFE_INTEGER,
      silentSinceMs,
      nowMs,
    }) {
      let gone = 0;
      for (;;) {
        const piece = await write(async (run) => {
          // In the same step: what goes now is never taken for new when it comes again.
          const raise = raisePurgedBefore(await run(metaQuery(PURGED_BEFORE)), before, nowMs);
          if (raise !== undefined) await run(raise);
          await run(purgeCursors(silentSinceMs));
          const purge = async ({ text, values }: Query, key: string) =>
            (await run({ text: `${text} RETURNING ${key}`, values })).length;
          return {
            records: await purge(purgeRecords(before, upTo, purgeLimit), 'sequence'),
            asides: await purge(purgeAsides(before, purgeLimit), 'digest'),
            hours: await purge(purgeHours(before, purgeLimit), 'span'),
            firstContents: await purge(purgeFirstContents(before, purgeLimit), 'span'),
            refusals: await purge(purgeRefusals('ledger_refusals', before, purgeLimit), 'id'),
            excessRefusals: await purge(purgeExcessRefusals(refusalsKept, purgeLimit), 'id'),
            refusalWindows: await purge(purgeRefusals('ledger_refusal_windows', before, purgeLimit), 'id'),
            refusalSums: await purge(purgeRefusalSums(before, purgeLimit), 'span'),
          };
        });
        gone += piece.records;
        if (Object.values(piece).every((count) => count < purgeLimit)) return gone;
      }
    },
    close: end,
  };
}

type Run = (query: Query) => Promise<Row[]>;

async function takePages(run: Run, pages: readonly PageRows[], nowMs: number): Promise<Taken[]> {
  const purgedBefore = readPurgedBefore(await run(metaQuery(PURGED_BEFORE)), nowMs);
  const isInTime = ({ at_ms }: { readonly at_ms: number }) => dayOf(at_ms) >= purgedBefore;
  const put = async (text: string, rows: readonly object[]): Promise<Row[]> =>
    rows.length === 0 ? [] : await run({ text, values: [JSON.stringify(rows)] });
  const sorted = pages.map(({ source, rows, asides }) => {
    const late = rows.filter(({ day }) => day < purgedBefore);
    const aside = [...asides, ...late.map(({ line }) => ({ line, reason: PURGED_REASON }))];
    return {
      rows: rows.filter(({ day }) => day >= purgedBefore),
      asides: aside.map(({ line, reason }) => ({
        ...{ digest: digestOf(source, line), source, at_ms: nowMs, reason, line },
      })),
    };
  });

  const inserted = await put(
    insertRecords,
    sorted.flatMap(({ rows }) => rows),
  );
  const sequences = new Map(inserted.map(({ id, sequence }) => [id, Number(sequence)]));
  const added = sorted.map(({ rows }) =>
    rows.flatMap((row): AddedRow[] => {
      const sequence = sequences.get(row.id);
      // If two pages have one id, the first page has stored it.
      sequences.delete(row.id);
      return sequence === undefined ? [] : [{ ...row, sequence }];
    }),
  );
  const allAdded = added.flat();
  const marks = markQuery('postgres', allAdded);
  if (marks !== undefined) await run(marks);
  if (allAdded.length > 0) {
    const sums = rollUp(allAdded);
    const values = upserts.map(({ columns, rowsOf }) => JSON.stringify(rowsOf(sums), [...columns]));
    await run({ text: upsertAll, values });
  }
  const refusals = pages.flatMap((page) => page.refusals);
  await put(insertRefusals, refusals.filter(isInTime));
  const windows = pages.flatMap((page) => page.windows).filter(isInTime);
  const fresh = new Map((await put(insertWindows, windows)).map(({ id }) => [id, true]));
  await put(upsertRefused, addRefusals(windows.filter(({ id }) => fresh.delete(id))));
  const putAside = await put(
    insertAsides,
    sorted.flatMap(({ asides }) => asides),
  );
  const digests = new Set(putAside.map(({ digest }) => digest));
  for (const { source, cursor } of pages) await run(putCursor(source, cursor, nowMs));
  return sorted.map(({ rows, asides }, at) => {
    const count = added[at]?.length ?? 0;
    const asidesAdded = asides.filter(({ digest }) => digests.delete(digest)).length;
    return { added: count, duplicates: rows.length - count, asides: asidesAdded };
  });
}

const texts = new Set<string>([
  'id',
  'hour',
  ...DAILY_KEYS,
  ...SPAN_KEYS,
  ...REFUSAL_KEYS.filter((name) => name !== 'status'),
  'failure',
  'line',
  'digest',
  'source',
  'reason',
]);

/** Rows out of one value that is JSON: as many as there are, in one statement. */
function rowsFrom(columns: readonly string[], value = 1): string {
  const typed = columns.map((name) => `${name} ${texts.has(name) ? 'text' : 'bigint'}`);
  return `SELECT ${columns.join(', ')} FROM jsonb_to_recordset($${value}::jsonb) AS given(${typed.join(', ')})`;
}

const insertRecords = `INSERT INTO ledger_records (${RECORD_COLUMNS.join(', ')}) ${rowsFrom(RECORD_COLUMNS)}
  ON CONFLICT (id) DO NOTHING RETURNING id, sequence`;
const asideColumns = ['digest', 'source', 'at_ms', 'reason', 'line'];
/** The same line twice in a page is one; that is what DO NOTHING does within a statement too. */
const insertAsides = `INSERT INTO ledger_asides (${asideColumns.join(', ')}) ${rowsFrom(asideColumns)}
  ON CONFLICT (digest) DO NOTHING RETURNING digest`;
const upserts = sumUpserts(rowsFrom);
/** All of them in one statement: between two, Postgres would wait for a thread that may be reading a page. */
const upsertAll = `WITH ${upserts.map(({ text }, at) => `sums_${at} AS (${text})`).join(', ')} SELECT 1`;
const insertRefusals = `INSERT INTO ledger_refusals (${REFUSAL_COLUMNS.join(', ')}) ${rowsFrom(REFUSAL_COLUMNS)}
  ON CONFLICT (id) DO NOTHING`;
const insertWindows = `INSERT INTO ledger_refusal_windows (${WINDOW_COLUMNS.join(', ')}) ${rowsFrom(WINDOW_COLUMNS)}
  ON CONFLICT (id) DO NOTHING RETURNING id`;
const { text: upsertRefused } = upsertRefusals(rowsFrom);

function inTransaction<T>({ pool, queue }: QueuedPool, work: (run: Run) => Promise<T>): Promise<T> {
  return queue.run(() => transact(pool, work));
}

async function transact<T>(pool: Pool, work: (run: Run) => Promise<T>): Promise<T> {
  const client = await pool.connect().catch(rethrow);
  let broken: Error | undefined;
  // A connection that breaks says so itself, beside failing what is in progress; unheard, that ends the process.
  const onError = (error: Error): void => {
    broken = error;
  };
  client.on('error', onError);
  try {
    return await commit(client, work);
  } catch (error) {
    // The connection is dropped after any failure: it may still be in a transaction.
    broken = error instanceof Error ? error : new Error('the transaction failed');
    return rethrow(error);
  } finally {
    client.off('error', onError);
    client.release(broken);
  }
}

async function transactAsLeader<T>(client: Client, work: (run: Run) => Promise<T>): Promise<T> {
  try {
    return await commit(client, work);
  } catch (error) {
    // The lock of the leader is of the connection: only one that is broken is given up.
    await client.query('ROLLBACK').catch(() => client.end().catch(() => {}));
    return rethrow(error);
  }
}

async function commit<T>(client: Pick<Client, 'query'>, work: (run: Run) => Promise<T>): Promise<T> {
  const run: Run = async ({ text, values }) => (await client.query<Row>(text, [...values])).rows;
  await client.query(`BEGIN; SELECT pg_advisory_xact_lock(${POSTGRES_LOCK})`);
  const result = await work(run);
  await client.query('COMMIT');
  return result;
}

/** Without what `pg` puts beside its message: details quote values. */
function rethrow(error: unknown): never {
  throw new Error(`Postgres: ${reasonOf(error)}`);
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'it failed';
  // Where a name has several addresses, only the members of the aggregate say anything.
  if (error.message === '' && 'code' in error) return String(error.code);
  return error.message;
}
