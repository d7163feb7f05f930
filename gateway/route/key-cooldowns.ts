// Which keys were refused at this pod, and how long are their cooldowns? By an id of the whole key, or of the key for one model.

import {
  type Cooldown,
  type CooldownReason,
  cooldownAfter,
  isForgotten,
  phaseOfCooldown,
  type Refusal,
} from './cooldown.ts';

/** The key behind a health id. */
export interface KeyAtProvider {
  readonly provider: string;
  /** Absent if the provider takes none. */
  readonly key?: string;
}

/** One cooldown. */
export interface CoolingKey extends KeyAtProvider {
  /** Absent: the key as a whole. */
  readonly upstreamModel?: string;
}

/** How long a request waits for the trial call of a key before it checks again. */
const trialLookMs = 200;

interface Entry extends Cooldown {
  readonly at: CoolingKey;
  /** Health id of the key. */
  readonly keyId: string;
}

export class KeyCooldowns {
  private readonly cooldowns = new Map<string, Entry>();

  get isEmpty(): boolean {
    return this.cooldowns.size === 0;
  }

  /** Why the key is in cooldown, or on trial after one; undefined if it may be used. */
  reasonOf(id: string, nowMs: number): CooldownReason | undefined {
    const phase = this.phaseOf(id, nowMs);
    return phase === 'cooling-down' || phase === 'on-trial' ? this.cooldowns.get(id)?.reason : undefined;
  }

  /** Its time is up, and the next attempt shows whether it works again. */
  isDue(id: string, nowMs: number): boolean {
    return this.phaseOf(id, nowMs) === 'due';
  }

  /** The trial call that shows whether it works again is in flight. */
  isOnTrial(id: string, nowMs: number): boolean {
    return this.phaseOf(id, nowMs) === 'on-trial';
  }

  /** When to check again whether the key may be used; undefined without a cooldown. */
  lookAgainMs(id: string, nowMs: number): number | undefined {
    if (this.isOnTrial(id, nowMs)) return trialLookMs;
    const untilMs = this.untilMs(id);
    return nowMs < untilMs ? untilMs - nowMs : undefined;
  }

  /** Clock time at which the cooldown ends or has ended; 0 without one. */
  untilMs(id: string): number {
    return this.cooldowns.get(id)?.untilMs ?? 0;
  }

  /** Whether the key is in cooldown for another model than that of this id. */
  coolsDownForOther(keyId: string, id: string, nowMs: number): boolean {
    return this.cooldowns
      .entries()
      .some(
        ([other, cooldown]) =>
          cooldown.keyId === keyId &&
          other !== keyId &&
          other !== id &&
          phaseOfCooldown(cooldown, nowMs) === 'cooling-down',
      );
  }

  /** An attempt begins: of a key that has rested it is the trial. */
  onStart(id: string, nowMs: number): void {
    const cooldown = this.cooldowns.get(id);
    const phase = cooldown && phaseOfCooldown(cooldown, nowMs);
    if (cooldown && phase === 'due') this.cooldowns.set(id, { ...cooldown, trialSinceMs: nowMs });
    else if (cooldown && isForgotten(cooldown, nowMs)) this.cooldowns.delete(id);
  }

  /** An attempt is over. Without a verdict on the key, the next attempt is another trial. */
  onEnd(id: string, startedAtMs: number): void {
    const cooldown = this.cooldowns.get(id);
    if (cooldown?.trialSinceMs === startedAtMs)
      this.cooldowns.set(id, { ...cooldown, trialSinceMs: undefined });
  }

  onAnswered(id: string, startedAtMs: number): void {
    // What began before the rest says nothing of now.
    if (startedAtMs >= (this.cooldowns.get(id)?.untilMs ?? Number.POSITIVE_INFINITY))
      this.cooldowns.delete(id);
  }

  onRefused(id: string, { keyId, at }: Pick<Entry, 'keyId' | 'at'>, refusal: Refusal, nowMs: number): void {
    this.cooldowns.set(id, { ...cooldownAfter(this.cooldowns.get(id), refusal, nowMs), keyId, at });
  }

  /** Drops the cooldowns of keys that are no longer in use. @returns How many. */
  keepOnly(keyIds: ReadonlySet<string>): number {
    const gone = this.cooldowns.entries().filter(([, { keyId }]) => !keyIds.has(keyId));
    return [...gone].filter(([id]) => this.cooldowns.delete(id)).length;
  }

  /** Drops cooldowns that are over and do not lengthen the next one. */
  forget(nowMs: number): void {
    for (const [id, cooldown] of this.cooldowns) if (isForgotten(cooldown, nowMs)) this.cooldowns.delete(id);
  }

  /** By id. */
  coolingDown(
    nowMs: number,
  ): readonly (readonly [id: string, cooldown: Cooldown & Pick<Entry, 'at' | 'keyId'>])[] {
    return [...this.cooldowns].filter(([, { untilMs }]) => nowMs < untilMs);
  }

  /**
   * Keys in cooldown; also, for this long after it, keys that need a person and have had no answer since then;
   * by id.
   */
  untrusted(nowMs: number, memoryMs: number): ReturnType<KeyCooldowns['coolingDown']> {
    return [...this.cooldowns].filter(([id, { untilMs, reason }]) => {
      const phase = this.phaseOf(id, nowMs);
      if (phase === 'cooling-down' || reason === 'rate-limit') return phase === 'cooling-down';
      return phase !== 'over' && nowMs - untilMs < memoryMs;
    });
  }

  private phaseOf(id: string, nowMs: number): ReturnType<typeof phaseOfCooldown> | undefined {
    const cooldown = this.cooldowns.get(id);
    return cooldown && phaseOfCooldown(cooldown, nowMs);
  }
}
