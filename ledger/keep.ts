// Which records are old enough to go? Once an hour those of days before the kept ones, with the lines that were put aside then; daily sums stay.

import type { Clock } from '../kube/clock.ts';
import { wait } from '../kube/wait.ts';
import { dayOf } from './store/periods.ts';
import type { LedgerStore } from './store/store.ts';

export interface KeepOptions {
  readonly store: Pick<LedgerStore, 'purge' | 'sinkCursor'>;
  readonly clock: Clock;
  /** Today not counted; 0: for ever. */
  readonly retentionDays: number;
  /** Who must have been told of a record before it goes. */
  readonly sink: string | undefined;
  onPurged(records: number): void;
  onFailed(reason: string): void;
}

const dayMs = 86_400_000;
const everyMs = 3_600_000;
/** A journal that was not heard of for so long is not there any more. */
const silentMs = 30 * dayMs;

export function keepYoung(options: KeepOptions): { close(): Promise<void> } {
  const { store, clock, retentionDays, sink } = options;
  const end = new AbortController();
  const running = (async () => {
    while (!end.signal.aborted) {
      try {
        const nowMs = clock.wallMs();
        // With 0 no day is before it; only cursors go.
        const before = retentionDays === 0 ? '' : dayOf(nowMs - retentionDays * dayMs);
        const upTo = sink === undefined ? undefined : await store.sinkCursor(sink);
        const gone = await store.purge({ before, upTo, silentSinceMs: nowMs - silentMs });
        if (gone > 0) options.onPurged(gone);
      } catch (error) {
        options.onFailed(error instanceof Error ? error.message : 'it failed');
      }
      await wait(clock, everyMs, end.signal);
    }
  })();
  return {
    async close() {
      end.abort();
      await running;
    },
  };
}
