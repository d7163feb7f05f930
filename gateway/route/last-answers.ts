// Which caller was answered last, by which model with which key? This separates a failure of one caller from one of all callers.

/** Of one model with one key. Changed in place: it is noted with each answer. */
interface LastAnswer {
  /** When the youngest attempt began that was answered. */
  startedAtMs: number;
  caller: string;
  atMs: number;
  /** When a caller other than `caller` was last answered. */
  othersAtMs: number;
}

export class LastAnswers {
  /** By health id of the key, then of the target. */
  private readonly keys = new Map<string, Map<string, LastAnswer>>();

  note(key: string, target: string, caller: string, startedAtMs: number, nowMs: number): void {
    const targets = this.keys.get(key);
    const last = targets?.get(target);
    if (last === undefined) {
      const first = { startedAtMs, caller, atMs: nowMs, othersAtMs: Number.NEGATIVE_INFINITY };
      if (targets === undefined) this.keys.set(key, new Map([[target, first]]));
      else targets.set(target, first);
      return;
    }
    if (startedAtMs > last.startedAtMs) last.startedAtMs = startedAtMs;
    if (last.caller !== caller) {
      last.othersAtMs = last.atMs;
      last.caller = caller;
    }
    last.atMs = nowMs;
  }

  /** When the youngest attempt began that was answered with the key; by one model, or by any. */
  youngestStartMs(key: string, target?: string): number {
    return latest(this.of(key, target).map(({ startedAtMs }) => startedAtMs));
  }

  /** When a caller other than this one was last answered with the key; by one model, or by any. */
  othersAtMs(caller: string, key: string, target?: string): number {
    return latest(this.of(key, target).map((last) => (last.caller === caller ? last.othersAtMs : last.atMs)));
  }

  /** Whether a model beside this one has answered with the key. */
  hasOtherThan(key: string, target: string): boolean {
    return (
      this.keys
        .get(key)
        ?.keys()
        .some((other) => other !== target) ?? false
    );
  }

  keepOnly(keys: ReadonlySet<string>): void {
    for (const key of this.keys.keys()) if (!keys.has(key)) this.keys.delete(key);
  }

  /** What was before so long. */
  forget(nowMs: number, memoryMs: number): void {
    for (const [key, targets] of this.keys) {
      for (const [target, { atMs }] of targets) if (nowMs - atMs >= memoryMs) targets.delete(target);
      if (targets.size === 0) this.keys.delete(key);
    }
  }

  private of(key: string, target: string | undefined): readonly LastAnswer[] {
    const targets = this.keys.get(key);
    if (targets === undefined) return [];
    if (target === undefined) return [...targets.values()];
    const last = targets.get(target);
    return last === undefined ? [] : [last];
  }
}

function latest(times: readonly number[]): number {
  return Math.max(Number.NEGATIVE_INFINITY, ...times);
}
