// Where do new tables come from? A source keeps the holder up to date until it is closed.

import type { TableVersion } from '../../../core/contract/exchange.ts';
import type { LoadFailure } from '../load-error.ts';

export interface TableSource {
  /** Resolves when the first table has been taken or refused. */
  readonly started: Promise<void>;
  close(): void;
}

/** Where a table in use was read: from the API server, from the pod's own copy of what it once read, from a file. */
export type TableOrigin = 'api' | 'copy' | 'file';

export interface TakenTable {
  readonly version: TableVersion;
  readonly source: TableOrigin;
  /** Absent if nothing had to be loaded. */
  readonly loadMs?: number;
}

export interface RefusedTable {
  readonly failure: LoadFailure;
  /** As far as it could be read. */
  readonly version: Partial<TableVersion>;
}

/** What a source tells the process about; the messages are fit for the log. */
export interface SourceReport {
  taken(generation: number, taken: TakenTable): void;
  /** The last good table stays in use. */
  refused(reason: string, refused: RefusedTable): void;
}
