// Every store that a test of behaviour goes over: SQLite in a folder of its own, and a real Postgres.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import pg from 'pg';
import { openPostgresStore } from '../../../ledger/store/postgres.ts';
import { openSqliteStore } from '../../../ledger/store/sqlite.ts';
import type { LedgerStore } from '../../../ledger/store/store.ts';
import { type Postgres, startPostgres } from '../postgres.ts';

export interface Database {
  /** Another connection to the same ledger. */
  open(): Promise<LedgerStore>;
  /** By hand, while nobody has it open. */
  edit(sql: readonly string[]): Promise<void>;
  /** Path or url. */
  readonly place: string;
}

export interface Databases {
  /** A ledger that nobody has written to. */
  make(): Promise<Database>;
  close(): Promise<void>;
}

/** Orders names as glibc's en_US.UTF-8 does, the locale of many databases: without their slashes and dashes. */
const ignoresPunctuation = 'en-US-u-ka-shifted';

export const kinds = {
  async sqlite(): Promise<Databases> {
    const folder = await mkdtemp(join(tmpdir(), 'penstock-ledger-'));
    let count = 0;
    return {
      async make() {
        const place = join(folder, String(count++), 'ledger.sqlite');
        return {
          place,
          open: () => openSqliteStore(place),
          async edit(sql) {
            using database = new DatabaseSync(place);
            for (const text of sql) database.exec(text);
          },
        };
      },
      close: () => rm(folder, { recursive: true, force: true }),
    };
  },
  async postgres(): Promise<Databases> {
    const server: Postgres = await startPostgres();
    let count = 0;
    return {
      async make() {
        const place = await server.createDatabase(`ledger_${count++}`, ignoresPunctuation);
        return {
          place,
          open: () => openPostgresStore(place, () => {}),
          async edit(sql) {
            const client = new pg.Client({ connectionString: place });
            await client.connect();
            try {
              for (const text of sql) await client.query(text);
            } finally {
              await client.end();
            }
          },
        };
      },
      close: () => server.close(),
    };
  },
} satisfies Record<string, () => Promise<Databases>>;

export const kindNames = ['sqlite', 'postgres'] as const;
