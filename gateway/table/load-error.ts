// Why was a table refused? One word for metrics, one sentence for the log; neither quotes the table.

import type { TableVersion } from '../../core/contract/exchange.ts';
import { TableRefusedError } from '../../core/contract/routing-table.ts';

export const loadFailures = [
  /** It needs a newer reader. */
  'too-new',
  /** It does not fit the schema, or does not fit together. */
  'invalid',
  /** It is not newer than the one in use. */
  'older',
  /** A shard is missing. */
  'incomplete',
  /** A piece of it is not what its name promises. */
  'corrupt',
  /** It could not be asked for. */
  'unreachable',
] as const;
export type LoadFailure = (typeof loadFailures)[number];

export class TableLoadError extends Error {
  readonly failure: LoadFailure;
  /** As far as it could be read. */
  readonly version: Partial<TableVersion>;

  constructor(failure: LoadFailure, message: string, version: Partial<TableVersion> = {}) {
    super(message);
    this.name = 'TableLoadError';
    this.failure = failure;
    this.version = version;
  }
}

/** Whatever was thrown on the way to a table, as the one thing a source reports. */
export function asLoadError(error: unknown, version: Partial<TableVersion> = {}): TableLoadError {
  if (error instanceof TableLoadError) {
    return new TableLoadError(error.failure, error.message, { ...version, ...error.version });
  }
  const message = error instanceof Error ? error.message : String(error);
  return error instanceof TableRefusedError
    ? new TableLoadError(error.reason, message, version)
    : new TableLoadError('unreachable', message, version);
}
