// Every store that a test of behaviour goes over: SQLite in a folder of its own, and a real Postgres.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openPostgresStore } from '../../../ledger/store/postgres.ts';
import { openSqliteStore } from '../../../ledger/store/sqlite.ts';
import type { LedgerStore } from '../../../ledger/store/store.ts';
import { type Postgres, startPostgres } from '../postgres.ts';

export interface Database {
  /** Another connection to the same ledger. */
  open(): Promise<LedgerStore>;
  /** Path or url. */
  readonly place: string;
}

export interface Databases {
  /** A ledger that nobody has written to. */
  make(): Promise<Database>;
  close(): Promise<void>;
}

export const kinds = {
  async sqlite(): Promise<Databases> {
    const folder = await mkdtemp(join(tmpdir(), 'penstock-ledger-'));
    let count = 0;
    return {
      async make() {
        const place = join(folder, String(count++), 'ledger.sqlite');
        return { place, open: () => openSqliteStore(place) };
      },
      close: () => rm(folder, { recursive: true, force: true }),
    };
  },
  async postgres(): Promise<Databases> {
    const server: Postgres = await startPostgres();
    let count = 0;
    return {
      async make() {
        const place = await server.createDatabase(`ledger_${count++}`);
        return { place, open: () => openPostgresStore(place, () => {}) };
      },
      close: () => server.close(),
    };
  },
} satisfies Record<string, () => Promise<Databases>>;

export const kindNames = ['sqlite', 'postgres'] as const;
