// Deletes records past their retention once an hour, with the quarantined lines of these days; daily sums stay. A clock that is ahead
// deletes nothing early: if the youngest record is older than now, days are counted back from that record.

import type { Clock } from '../core/clock.ts';
import { wait } from '../core/kube/wait.ts';
import { dayOf } from './store/day-of.ts';
import type { LedgerState, LedgerStore } from './store/store.ts';

/** A flood of refused calls fills no volume: the newest have rows, and sums count all. */
const refusalsKept = 1_000_000;

export interface KeepOptions {
  readonly store: Pick<LedgerStore, 'purge' | 'sinkCursor' | 'state'>;
  readonly clock: Clock;
  /** Today not counted; 0: for ever. */
  readonly retentionDays: number;
  /** The receiver that must have a record before it is deleted. */
  readonly sink: string | undefined;
  onPurged(records: number): void;
  /** The clock has jumped, or no record came for the whole retention. Called once for each such period. */
  onOddClock(reason: string): void;
  onFailed(reason: string): void;
}

const dayMs = 86_400_000;
const everyMs = 3_600_000;
/** A journal that was silent for this long no longer exists. */
const silentMs = 30 * dayMs;

export function keepYoung(options: KeepOptions): { close(): Promise<void> } {
  const { store, clock, retentionDays, sink } = options;
  const end = new AbortController();
  let reported: string | undefined;
  const report = (reason: string | undefined): void => {
    if (reason !== undefined && reason !== reported) options.onOddClock(reason);
    reported = reason;
  };
  const running = (async () => {
    while (!end.signal.aborted) {
      try {
        const nowMs = clock.wallMs();
        const state = await store.state();
        report(oddOf(state, nowMs, retentionDays));
        const untilMs = Math.min(nowMs, state.youngestMs ?? nowMs);
        // With 0 no day is before it; only cursors go.
        const before = retentionDays === 0 ? '' : dayOf(untilMs - retentionDays * dayMs);
        const upTo = sink === undefined ? undefined : await store.sinkCursor(sink);
        const gone = await store.purge({
          ...{ before, upTo, silentSinceMs: untilMs - silentMs, nowMs },
          refusalsKept,
        });
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

function oddOf(
  { keptFrom, youngestMs = Number.POSITIVE_INFINITY }: LedgerState,
  nowMs: number,
  retentionDays: number,
): string | undefined {
  const today = dayOf(nowMs);
  if (keptFrom > today)
    return `records of days before ${keptFrom} are marked as purged, and it is ${today}: the clock was ahead, so the mark is ignored`;
  if (retentionDays > 0 && nowMs - youngestMs > (retentionDays + 1) * dayMs)
    return `the youngest record is of ${dayOf(youngestMs)}, and the clock says ${today}: records are kept for ${retentionDays} days before the youngest; check the clock of the node`;
  return undefined;
}
