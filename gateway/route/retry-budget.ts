// May the same target be tried again? Retries are a small part of its requests, so that they never make an outage worse. Trying
// another target needs no budget: else failover would end where it is needed most.

const spanMs = 5_000;

/** Share of its requests of two spans that may be repeated; and how many may, however few they are. */
const allowed = { share: 0.1, floor: 3 } as const;

/** What one target was asked in the present span of five seconds, and in the one before. */
export class RetryBudget {
  /** Counts the spans of all time. */
  private span = Number.NEGATIVE_INFINITY;
  private requests = 0;
  private repetitions = 0;
  private requestsBefore = 0;
  private repetitionsBefore = 0;

  /** Changes nothing: a plan asks too. */
  mayRepeat(nowMs: number): boolean {
    // Of the two spans kept, those that still count.
    const age = spanOf(nowMs) - this.span;
    const isLatest = age <= 1;
    const isBefore = age === 0;
    const requests = (isLatest ? this.requests : 0) + (isBefore ? this.requestsBefore : 0);
    const repetitions = (isLatest ? this.repetitions : 0) + (isBefore ? this.repetitionsBefore : 0);
    return repetitions < Math.max(allowed.floor, allowed.share * requests);
  }

  onAsked(isRepetition: boolean, nowMs: number): void {
    this.roll(nowMs);
    if (isRepetition) this.repetitions++;
    else this.requests++;
  }

  /** Whether nothing in it counts any more. */
  isSpent(nowMs: number): boolean {
    return spanOf(nowMs) > this.span + 1;
  }

  private roll(nowMs: number): void {
    const span = spanOf(nowMs);
    if (span === this.span) return;
    const isNext = span === this.span + 1;
    this.requestsBefore = isNext ? this.requests : 0;
    this.repetitionsBefore = isNext ? this.repetitions : 0;
    this.requests = 0;
    this.repetitions = 0;
    this.span = span;
  }
}

function spanOf(nowMs: number): number {
  return Math.floor(nowMs / spanMs);
}
