// Which table does a request that starts now see? The one mutable reference of the gateway.
// A request takes the view once and keeps it to its end, so no request ever sees two tables.

import { withoutKeys } from './revocations.ts';
import { compareVersions } from './version.ts';
import type { TableView } from './view.ts';

/** What became of a table that was offered. */
export type OfferVerdict =
  | { readonly type: 'taken' }
  /** Older than, or the same as, the one in use. */
  | { readonly type: 'stale'; readonly current: number };

export class TableHolder {
  private view: TableView | undefined;
  private readonly listeners = new Set<(view: TableView) => void>();

  /** Undefined until a first whole table has been taken. */
  current(): TableView | undefined {
    return this.view;
  }

  /** (epoch, generation) never goes backwards. */
  offer(view: TableView): OfferVerdict {
    const held = this.view;
    // guard: table-forward
    if (held && compareVersions(view, held) <= 0) return { type: 'stale', current: held.generation };
    this.swap(view);
    return { type: 'taken' };
  }

  /**
   * From now on the keys whose digests begin so are unknown; gives how many of them there were. The table keeps
   * its number: what else its successor says is not known yet.
   */
  revoke(digestBeginnings: readonly string[]): number {
    const held = this.view;
    if (!held || digestBeginnings.length === 0) return 0;
    const view = withoutKeys(held, new Set(digestBeginnings));
    if (view !== held) this.swap(view);
    return held.keys.size - view.keys.size;
  }

  /** Called after every swap. @returns A function that removes the listener. */
  onSwap(listener: (view: TableView) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  private swap(view: TableView): void {
    this.view = view;
    for (const listener of this.listeners) listener(view);
  }
}
