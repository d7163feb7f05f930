// Which table is in use since when, and which one was refused last? What a pod says of itself.

import type { ExchangeResponse } from '../../core/contract/exchange.ts';
import type { RefusedTable, TableOrigin, TakenTable } from './sources/source.ts';
import { compareVersions } from './version.ts';

export type TableState = Pick<ExchangeResponse, 'table' | 'rejected'>;

const reasonCharsMax = 2_000;

export class TableStatus {
  private now: TableState = {};
  private readonly wallMs: () => number;
  private readonly listeners = new Set<() => void>();

  /** @param wallMs Unix milliseconds. */
  constructor(wallMs: () => number) {
    this.wallMs = wallMs;
  }

  state(): TableState {
    return this.now;
  }

  source(): TableOrigin | undefined {
    return this.now.table?.source;
  }

  taken({ version, source }: TakenTable): void {
    const { table, rejected } = this.now;
    const isSame = table !== undefined && compareVersions(version, table) === 0;
    const sinceMs = isSame ? table.sinceMs : Math.round(this.wallMs());
    // Known to be newer than the one in use now: its refusal is still news.
    const isNewer =
      rejected?.epoch !== undefined &&
      rejected.generation !== undefined &&
      compareVersions({ epoch: rejected.epoch, generation: rejected.generation }, version) > 0;
    this.change({ table: { ...version, sinceMs, source }, ...(isNewer ? { rejected } : {}) });
  }

  refused(reason: string, { failure, version }: RefusedTable): void {
    // A table older than the one in use is not an error to report: the pod should not use it.
    if (failure === 'older') return;
    const { rejected } = this.now;
    const cut = reason.slice(0, reasonCharsMax);
    if (
      rejected?.reason === cut &&
      rejected.epoch === version.epoch &&
      rejected.generation === version.generation
    )
      return;
    this.change({ ...this.now, rejected: { ...version, reason: cut } });
  }

  /** Called after every change. @returns A function that removes the listener. */
  onChange(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  private change(state: TableState): void {
    this.now = state;
    for (const listener of this.listeners) listener();
  }
}
