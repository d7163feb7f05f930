// How did the calls of one target end in the last minutes? Attempts only add to numbers; all else is done when they are read.

/** Two spans are kept, so a call is remembered for five to ten minutes. */
const spanMs = 300_000;
/** Where earlier calls were answered, as many failures in a row show that the target fails now. */
const failingInRow = 5;
/** Some of its calls fail: as many, and as large a share. */
const partly = { failuresMin: 5, share: 0.1 } as const;

type CallsState = 'answering' | 'partly' | 'failing';

interface RecentCallsReading {
  readonly state: CallsState;
  readonly calls: number;
  readonly failed: number;
  /** Of the last failure, in one word of the ledger's `failure`. */
  readonly cause: string | undefined;
  /** Since when no call was answered, by the clock; where the last one was, when the last failure was. */
  readonly sinceMs: number;
}

interface Span {
  answered: number;
  failed: number;
  /** After a rate limit, or denied. Failover and cooldowns cope with those, unless nothing is answered at all. */
  limited: number;
}

export class RecentCalls {
  private now: Span = emptySpan();
  private before: Span = emptySpan();
  /** Undefined before the first reading. */
  private spanSinceMs: number | undefined;
  private inRow = 0;
  private isRow = false;
  private sinceMs = 0;
  private cause: string | undefined;
  private reported = '';

  onAnswered(): void {
    this.now.answered++;
    this.inRow = 0;
    this.isRow = false;
  }

  /** @param wasAnswered It was counted as answered, with its first content. */
  onFailed(cause: string | undefined, wasAnswered: boolean, nowMs: number): void {
    if (wasAnswered && this.now.answered > 0) this.now.answered--;
    this.now.failed++;
    this.inRow++;
    this.note(cause, nowMs);
  }

  onLimited(cause: string | undefined, nowMs: number): void {
    this.now.limited++;
    this.note(cause, nowMs);
  }

  /** Undefined without calls in the last minutes. */
  read(nowMs: number): RecentCallsReading | undefined {
    this.roll(nowMs);
    const { now, before, inRow, cause, sinceMs } = this;
    const answered = now.answered + before.answered;
    const broken = now.failed + before.failed;
    const failed = broken + now.limited + before.limited;
    const calls = answered + failed;
    if (calls === 0) return undefined;
    const isFailing = answered === 0 || inRow >= failingInRow;
    const isPartly = broken >= partly.failuresMin && broken >= partly.share * calls;
    const state = isFailing ? 'failing' : isPartly ? 'partly' : 'answering';
    return { state, calls, failed, cause, sinceMs };
  }

  /** Whether it would be reported in another way than at the last call of this: the numbers alone are no news. */
  hasNews(nowMs: number): boolean {
    const reading = this.read(nowMs);
    const words =
      reading === undefined
        ? ''
        : reading.state === 'answering'
          ? reading.state
          : `${reading.state} ${reading.cause}`;
    const isNews = words !== this.reported;
    this.reported = words;
    return isNews;
  }

  /** At the last reading. */
  get isEmpty(): boolean {
    return this.reported === '';
  }

  /** The target is in no table any more. @returns whether there was anything to forget. */
  forget(): boolean {
    this.now = emptySpan();
    this.before = emptySpan();
    const wasReported = !this.isEmpty;
    this.reported = '';
    return wasReported;
  }

  private note(cause: string | undefined, nowMs: number): void {
    this.cause = cause;
    if (this.isRow) return;
    this.isRow = true;
    this.sinceMs = nowMs;
  }

  private roll(nowMs: number): void {
    this.spanSinceMs ??= nowMs;
    const age = nowMs - this.spanSinceMs;
    if (age < spanMs) return;
    // Not read for longer than a span: the age of its numbers is unknown.
    this.before = age < 2 * spanMs ? this.now : emptySpan();
    this.now = emptySpan();
    this.spanSinceMs = nowMs;
  }
}

function emptySpan(): Span {
  return { answered: 0, failed: 0, limited: 0 };
}
