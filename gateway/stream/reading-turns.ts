// Whose upstream is read next while the event loop is busy? As fast streams as clients can read would make each turn of the loop as long as
// there are streams, and every other caller waits for several turns. So a turn has a few milliseconds for reading; streams that find them
// used up pause, and are read in turn: tenant by tenant, in each key by key, in each stream by stream. No time is lost by it, the next turn
// follows at once. A process that is not busy pays a sum and a comparison a chunk.

import type { KeyUse, TenantUse } from '../admission/fair-share.ts';

interface ReadingTurnsOptions {
  now(): number;
  /** Calls back in the next turn of the event loop. */
  nextTurn(callback: () => void): void;
}

/** Of each turn; what is not paced comes on top. */
const turnMs = 5;

/** More bytes than arrive in a tenth of a second: the current turn of the event loop is already long. */
const burstBytes = 8 * 1024 * 1024;

export class ReadingTurns {
  private isPacing = false;
  /** Bytes read since the last look at the load. */
  private unseenBytes = 0;
  private readonly options: ReadingTurnsOptions;
  private readonly waiting = new Map<TenantUse, Map<KeyUse, (() => void)[]>>();
  private turnEndsAt = 0;
  private isInTurn = false;

  constructor(options: ReadingTurnsOptions) {
    this.options = options;
  }

  /** Ten times a second, as long as anything is read: whether the event loop is busy. */
  look(isBusy: boolean): void {
    this.isPacing = isBusy;
    this.unseenBytes = 0;
  }

  /** Called with each chunk. @returns Whether its reader must ask before it reads on. */
  paces(bytes: number): boolean {
    this.unseenBytes += bytes;
    if (this.unseenBytes > burstBytes) this.isPacing = true;
    return this.isPacing;
  }

  /**
   * Called after each chunk while that is so.
   *
   * @returns True: the reader pauses until `resume` is called.
   */
  mustWait(key: KeyUse, resume: () => void): boolean {
    if (!this.isInTurn) this.beginTurn();
    if (this.options.now() < this.turnEndsAt) return false;
    this.line(key).push(resume);
    return true;
  }

  /**
   * Work in steps of a millisecond at most, one a turn, in the same line, busy or not. The first one is made in the next turn.
   *
   * @returns What it comes to. Rejects if a step throws.
   */
  run<Result>(key: KeyUse, steps: Generator<undefined, Result, undefined>): Promise<Result> {
    return new Promise((resolve, reject) => {
      const goOn = (): void => {
        try {
          const { done, value } = steps.next();
          if (done) resolve(value);
          else this.line(key).push(goOn);
        } catch (error) {
          reject(error);
        }
        this.turnEndsAt = 0;
      };
      this.line(key).push(goOn);
      if (!this.isInTurn) this.beginTurn();
    });
  }

  private beginTurn(): void {
    this.isInTurn = true;
    this.turnEndsAt = this.options.now() + turnMs;
    this.options.nextTurn(() => {
      this.isInTurn = false;
      if (this.waiting.size === 0) return;
      this.beginTurn();
      do this.takeNext()?.();
      while (this.waiting.size > 0 && this.options.now() < this.turnEndsAt);
    });
  }

  private line(key: KeyUse): (() => void)[] {
    const keys = this.waiting.get(key.tenant) ?? new Map<KeyUse, (() => void)[]>();
    this.waiting.set(key.tenant, keys);
    const line = keys.get(key) ?? [];
    keys.set(key, line);
    return line;
  }

  /** Tenants and keys that have more go to the end of their lines. */
  private takeNext(): (() => void) | undefined {
    const [tenant, keys] = first(this.waiting);
    const [key, line] = first(keys);
    const next = line.shift();
    if (line.length > 0) keys.set(key, line);
    if (keys.size > 0) this.waiting.set(tenant, keys);
    return next;
  }
}

function first<Key, Value>(map: Map<Key, Value>): readonly [Key, Value] {
  for (const [key, value] of map) {
    map.delete(key);
    return [key, value];
  }
  throw new RangeError('no reader is waiting');
}
