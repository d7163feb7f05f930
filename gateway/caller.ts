// Who is asking, and what may they? One of the nouns that cross the stages.

import type { KeyEntry } from './contract/routing-table.ts';

export interface Caller {
  readonly key: KeyEntry;
  /** The tenant. */
  readonly namespace: string;
}
