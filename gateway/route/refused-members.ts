// Which members that the gateway adds to requests does an upstream refuse? Learnt from its refusals, kept in memory for each target:
// the first request pays for the lesson with a second try.

/** More targets than any table has; the oldest are forgotten, and learn again. */
const targetsMax = 10_000;

export class RefusedMembers {
  /** By the target's health id, which changes with its address and its model. */
  private readonly targets = new Map<string, ReadonlySet<string>>();

  /** The same set until more is learnt; undefined if nothing is refused. */
  of(targetId: string): ReadonlySet<string> | undefined {
    return this.targets.size === 0 ? undefined : this.targets.get(targetId);
  }

  /** Learnt where the target has answered without them: an error that only quotes a caller teaches nothing. */
  learn(targetId: string, names: ReadonlySet<string>): void {
    this.targets.set(targetId, new Set([...(this.targets.get(targetId) ?? []), ...names]));
    const [oldest] = this.targets.keys();
    if (this.targets.size > targetsMax && oldest !== undefined) this.targets.delete(oldest);
  }
}
