// Which keys were refused at this pod, and how long are their cooldowns? By an id of the whole key, or of the key for one model.

import { isForgotten, phaseOfRest, type Refusal, type Rest, type RestReason, restAfter } from './rest.ts';

/** The key behind a health id. */
export interface KeyAtProvider {
  readonly provider: string;
  /** Absent if the provider takes none. */
  readonly key?: string;
}

/** One cooldown. */
export interface RestingKey extends KeyAtProvider {
  /** Absent: the key as a whole. */
  readonly upstreamModel?: string;
}

/** How long a request waits for the trial call of a key before it checks again. */
const trialLookMs = 200;

interface Entry extends Rest {
  readonly at: RestingKey;
  /** Health id of the key. */
  readonly keyId: string;
}

export class KeyRests {
  private readonly rests = new Map<string, Entry>();

  get isEmpty(): boolean {
    return this.rests.size === 0;
  }

  /** Why the key is in cooldown, or on trial after one; undefined if it may be used. */
  reasonOf(id: string, nowMs: number): RestReason | undefined {
    const phase = this.phaseOf(id, nowMs);
    return phase === 'resting' || phase === 'on-trial' ? this.rests.get(id)?.reason : undefined;
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

  /** Clock time at which the rest ends or has ended; 0: there is none. */
  untilMs(id: string): number {
    return this.rests.get(id)?.untilMs ?? 0;
  }

  /** Whether the key is in cooldown for another model than that of this id. */
  restsForOther(keyId: string, id: string, nowMs: number): boolean {
    return this.rests
      .entries()
      .some(
        ([other, rest]) =>
          rest.keyId === keyId && other !== keyId && other !== id && phaseOfRest(rest, nowMs) === 'resting',
      );
  }

  /** An attempt begins: of a key that has rested it is the trial. */
  onStart(id: string, nowMs: number): void {
    const rest = this.rests.get(id);
    const phase = rest && phaseOfRest(rest, nowMs);
    if (rest && phase === 'due') this.rests.set(id, { ...rest, trialSinceMs: nowMs });
    else if (rest && isForgotten(rest, nowMs)) this.rests.delete(id);
  }

  /** An attempt is over, whatever came of it: without a verdict on the key, the next one is another trial. */
  onEnd(id: string, startedAtMs: number): void {
    const rest = this.rests.get(id);
    if (rest?.trialSinceMs === startedAtMs) this.rests.set(id, { ...rest, trialSinceMs: undefined });
  }

  onAnswered(id: string, startedAtMs: number): void {
    // What began before the rest says nothing of now.
    if (startedAtMs >= (this.rests.get(id)?.untilMs ?? Number.POSITIVE_INFINITY)) this.rests.delete(id);
  }

  onRefused(id: string, { keyId, at }: Pick<Entry, 'keyId' | 'at'>, refusal: Refusal, nowMs: number): void {
    this.rests.set(id, { ...restAfter(this.rests.get(id), refusal, nowMs), keyId, at });
  }

  /** Drops the cooldowns of keys that are no longer in use. @returns How many. */
  keepOnly(keyIds: ReadonlySet<string>): number {
    const gone = this.rests.entries().filter(([, { keyId }]) => !keyIds.has(keyId));
    return [...gone].filter(([id]) => this.rests.delete(id)).length;
  }

  /** Drops cooldowns that are over and do not lengthen the next one. */
  forget(nowMs: number): void {
    for (const [id, rest] of this.rests) if (isForgotten(rest, nowMs)) this.rests.delete(id);
  }

  /** By id. */
  resting(nowMs: number): readonly (readonly [id: string, rest: Rest & Pick<Entry, 'at' | 'keyId'>])[] {
    return [...this.rests].filter(([, { untilMs }]) => nowMs < untilMs);
  }

  /**
   * Keys in cooldown; also, for this long after it, keys that need a person and have had no answer since then;
   * by id.
   */
  untrusted(nowMs: number, memoryMs: number): ReturnType<KeyRests['resting']> {
    return [...this.rests].filter(([id, { untilMs, reason }]) => {
      const phase = this.phaseOf(id, nowMs);
      if (phase === 'resting' || reason === 'rate-limit') return phase === 'resting';
      return phase !== 'over' && nowMs - untilMs < memoryMs;
    });
  }

  private phaseOf(id: string, nowMs: number): ReturnType<typeof phaseOfRest> | undefined {
    const rest = this.rests.get(id);
    return rest && phaseOfRest(rest, nowMs);
  }
}
