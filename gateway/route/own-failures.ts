// Does a target fail, or one caller's requests at it? Where others are answered, only the first failure of a caller counts.

/** An answer to another caller says for so long that the target works. */
const othersWithinMs = 5_000;
/** After so long without a failure, the next one of the same caller counts again. */
const memoryMs = 30_000;
/** Callers remembered for one target; of more than that, the oldest are forgotten. */
const callersMax = 64;

export class OwnFailures {
  /** When each caller last failed, by health id of the target; the latest at the end. */
  private readonly failures = new Map<string, Map<string, number>>();

  /**
   * @param othersAtMs When another caller was last answered by the target.
   * @returns True: it is the caller's own, and says nothing about the target.
   */
  onFailure(target: string, caller: string, othersAtMs: number, nowMs: number): boolean {
    const callers = this.failures.get(target) ?? new Map<string, number>();
    const lastMs = callers.get(caller) ?? Number.NEGATIVE_INFINITY;
    callers.delete(caller);
    callers.set(caller, nowMs);
    const [oldest] = callers.keys();
    if (callers.size > callersMax && oldest !== undefined) callers.delete(oldest);
    this.failures.set(target, callers);
    return nowMs - othersAtMs < othersWithinMs && nowMs - lastMs < memoryMs;
  }

  /** An answer in between shows that the caller is served too: its next failure is news. */
  onAnswered(target: string, caller: string): void {
    if (this.failures.size > 0) this.failures.get(target)?.delete(caller);
  }

  forget(nowMs: number): void {
    for (const [target, callers] of this.failures) {
      for (const [caller, atMs] of callers) if (nowMs - atMs >= memoryMs) callers.delete(caller);
      if (callers.size === 0) this.failures.delete(target);
    }
  }
}
