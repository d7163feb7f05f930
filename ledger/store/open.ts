// Which store is it? The one that the settings name.

import type { StorePlace } from '../settings.ts';
import { openPostgresStore } from './postgres.ts';
import { openSqliteStore } from './sqlite.ts';
import type { LedgerStore } from './store.ts';

interface StoreTroubles {
  /** An idle connection to a server broke; the next question opens another. */
  onBroken(reason: string): void;
  /** Nothing more will be stored by this process. */
  onEnd(reason: string): void;
  /** Everything works, but another volume would be better. Left out: not reported. */
  onSlow?(reason: string): void;
}

/** @throws as the stores do. */
export function openStore(
  place: StorePlace,
  { onBroken, onEnd, onSlow }: StoreTroubles,
): Promise<LedgerStore> {
  return place.type === 'sqlite'
    ? openSqliteStore(place.path, onEnd, onSlow)
    : openPostgresStore(place.url, onBroken);
}
