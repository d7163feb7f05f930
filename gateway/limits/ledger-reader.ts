// What does the ledger know of spending, and how much of ours is in it? Polled every second from the first table on that has a budget:
// first for everything, then for changes.
//
// An answer includes all that the ledger had read from our journal before the question: it stores records before it acknowledges them.
// So nothing is missing between its sums and this pod's counts; at worst an amount counts twice until the next answer. The ledger's
// clock does not matter: the question names the current periods, and by our clock the ledger puts our records into them.

import type { Clock } from '../../core/clock.ts';
import { type Budget, type PeriodBounds, periodAt } from '../../core/contract/budget.ts';
import type { SpendPage } from '../../core/contract/spend.ts';
import { LedgerSums } from './ledger-sums.ts';
import type { Subject } from './subject.ts';

/** Rejects if the ledger does not answer; after a sequence, 0 for everything; for this pod's date, `YYYY-MM-DD`. */
export type AskSpend = (after: number, day: string) => Promise<SpendPage>;

/** How far the ledger has come in the journal of this process. */
interface JournalProgress {
  /** Records that were written down so far. */
  appended(): number;
  /** How many of them it has acknowledged, from the first on; below 0 while records of an earlier process are open. */
  taken(): number;
}

export interface LedgerReaderParts {
  readonly clock: Clock;
  readonly ask: AskSpend;
  readonly progress: JournalProgress;
  /** The sums include this many first records of the journal. */
  onSeen(records: number): void;
  /** The ledger cannot be reached, reported once until that changes; without an error: the ledger answers again. */
  onTurn?(isHeard: boolean, error?: unknown): void;
}

const everyMs = 1_000;

/** Everything is read again at this interval: at the latest then, a ledger that was restored to an older state is noticed. */
const anewEveryMs = 600_000;

/** How long the first request of a budget waits for the first answer. */
const firstAnswerMs = 2_000;

/** How long this pod stays unready without the ledger's sums: a ledger that restarts together with its gateways needs less. */
const readyWithoutMs = 15_000;

export class LedgerReader {
  private readonly parts: LedgerReaderParts;
  /** Attempts that an earlier process left open were recorded at our start: their spending is not counted here. */
  private readonly leftBehind: number;
  private sums = new LedgerSums();
  private sequence = 0;
  private readAllAt = Number.NEGATIVE_INFINITY;
  private begunAt: number | undefined;
  private knownAt: number | undefined;
  private isOver = false;
  /** Failure of the last question. */
  private failure: string | undefined;
  private cancelNext = (): void => {};
  private readonly waiting = new Set<() => void>();

  constructor(parts: LedgerReaderParts) {
    this.parts = parts;
    this.leftBehind = parts.progress.appended();
  }

  /** False until an answer includes all that this pod, and earlier writers of its journal, had spent by its start. */
  get isKnown(): boolean {
    return this.knownAt !== undefined;
  }

  /** Milliseconds since the sums were asked for, or, while none are known, since they were needed first; undefined if they are not needed. */
  get ageMs(): number | undefined {
    const since = this.knownAt ?? this.begunAt;
    return since === undefined ? undefined : this.parts.clock.now() - since;
  }

  /** The ledger's sums are being read, and may be known soon. */
  get isAwaited(): boolean {
    return !this.isKnown && (this.ageMs ?? readyWithoutMs) < readyWithoutMs;
  }

  /** Starts polling, unless it has started. */
  begin(): void {
    if (this.begunAt !== undefined || this.isOver) return;
    this.begunAt = this.parts.clock.now();
    void this.read();
  }

  /** Resolves when the sums are known; false: that took too long. */
  untilKnown(patienceMs = firstAnswerMs): Promise<boolean> {
    this.begin();
    if (this.isKnown) return Promise.resolve(true);
    return new Promise((resolve) => {
      const finish = (): void => {
        cancel();
        this.waiting.delete(finish);
        resolve(this.isKnown);
      };
      const cancel = this.parts.clock.setTimer(patienceMs, finish);
      this.waiting.add(finish);
    });
  }

  /** In nanodollars. */
  spentOf(
    { kind, id }: Pick<Subject, 'kind' | 'id'>,
    { period }: Pick<Budget, 'period'>,
    { start }: PeriodBounds,
  ): number {
    return this.sums.spentOf(kind, id, period, start);
  }

  close(): void {
    this.isOver = true;
    this.cancelNext();
    for (const finish of this.waiting) finish();
  }

  /** Never rejects. */
  private async read(): Promise<void> {
    const { clock, progress, onSeen, onTurn } = this.parts;
    const askedAt = clock.now();
    const seen = progress.taken();
    try {
      await this.readPages(askedAt);
      if (this.isOver) return;
      onSeen(seen);
      if (this.failure !== undefined) onTurn?.(true);
      this.failure = undefined;
      if (seen >= this.leftBehind) {
        this.knownAt = askedAt;
        for (const finish of [...this.waiting]) finish();
      }
    } catch (error) {
      // Known sums stay, and so does all spending since then: a failure never makes room in a budget.
      if (this.isOver) return;
      const failure = String(error);
      if (failure !== this.failure) onTurn?.(false, error);
      this.failure = failure;
    }
    if (!this.isOver) this.cancelNext = clock.setTimer(everyMs, () => void this.read());
  }

  private async readPages(askedAt: number): Promise<void> {
    const isFullRead = askedAt - this.readAllAt >= anewEveryMs;
    let [sums, after] = isFullRead ? [new LedgerSums(), 0] : [this.sums, this.sequence];
    let isWhole = isFullRead;
    const { start: day } = periodAt('Day', this.parts.clock.wallMs());
    for (;;) {
      const page = await this.parts.ask(after, day);
      if (page.sequence < after) {
        [sums, after] = [new LedgerSums(), 0];
        isWhole = true;
        continue;
      }
      sums.take(page.keys);
      after = page.sequence;
      if (!page.hasMore) break;
    }
    this.sums = sums;
    this.sequence = after;
    if (isWhole) this.readAllAt = askedAt;
  }
}
