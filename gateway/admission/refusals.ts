// When is a refused request told so? At once, as long as they are few: to refuse costs little, but a client that is refused at once asks
// again at once, and refusing would then be all that is done. The others wait for the next moment, and so do their connections.

import type { Clock } from '../../core/clock.ts';

export interface RefusalPace {
  readonly momentMs: number;
  /** As things are. */
  perMoment(): number;
}

const defaultPace: RefusalPace = { momentMs: 100, perMoment: () => 200 };

/**
 * For those that send too slowly. Each has a connection that closes and may come again: up to 83 a second are let go, one by one, so that
 * others hardly notice thousands of them; and twenty times as many where most of the places are taken, so that one is left for others.
 *
 * @param share Of the connections that there may be, those that there are.
 */
export function slowPace(share: () => number): RefusalPace {
  return { momentMs: 12, perMoment: () => (share() > 3 / 4 ? 20 : 1) };
}

export class Refusals {
  private readonly clock: Clock;
  private readonly pace: RefusalPace;
  /** In the order of asking. */
  private readonly waiting = new Set<{ tell(): void }>();
  private told = 0;
  private isTiming = false;

  constructor(clock: Clock, pace = defaultPace) {
    this.clock = clock;
    this.pace = pace;
  }

  /**
   * `tell` is called once, now or later, in the order of asking.
   *
   * @returns what to call when it need not be told any more: it gives up its turn.
   */
  add(tell: () => void): () => void {
    if (!this.isTiming) this.startMoment();
    if (this.told >= this.pace.perMoment()) {
      const one = { tell };
      this.waiting.add(one);
      return () => void this.waiting.delete(one);
    }
    this.told++;
    tell();
    return () => {};
  }

  private startMoment(): void {
    this.isTiming = true;
    this.told = 0;
    this.clock.setTimer(this.pace.momentMs, () => this.nextMoment());
  }

  private nextMoment(): void {
    const next = [...this.waiting.values().take(this.pace.perMoment())];
    const wasQuiet = this.told === 0;
    if (wasQuiet && next.length === 0) {
      this.isTiming = false;
      return;
    }
    this.startMoment();
    this.told = next.length;
    for (const one of next) {
      this.waiting.delete(one);
      one.tell();
    }
  }
}
