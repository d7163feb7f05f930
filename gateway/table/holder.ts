// Which table does a request that starts now see? The one mutable reference of the gateway.
// A request takes the view once and keeps it to its end, so no request ever sees two tables.

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
    if (held && !isNewer(view, held)) return { type: 'stale', current: held.generation };
    this.view = view;
    for (const listener of this.listeners) listener(view);
    return { type: 'taken' };
  }

  /** Told after every swap; gives a function that stops it. */
  onSwap(listener: (view: TableView) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }
}

function isNewer(offered: TableView, held: TableView): boolean {
  if (offered.epoch !== held.epoch) return offered.epoch > held.epoch;
  return offered.generation > held.generation;
}
