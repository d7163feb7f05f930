// When does a refused request get its answer? At once, as long as refusals are few: each costs little, but clients that are refused at
// once retry at once, and refusing would then take all of the pod's time. Further refusals wait for the next moment, and so do their
// connections.

import type { Clock } from '../../core/clock.ts';

export interface RefusalPace {
  readonly momentMs: number;
  /** As things are. */
  perMoment(): number;
}

const defaultPace: RefusalPace = { momentMs: 100, perMoment: () => 200 };

/**
 * For connections that send too slowly. Refusing closes a connection, and its client may reconnect: up to 83 a second are closed one by
 * one, so that other callers hardly notice thousands of them. If most connections are taken, twenty times as many are closed, so that
 * one is free for other callers.
 *
 * @param share Open connections, as a part of the most that may be open.
 */
export function slowPace(share: () => number): RefusalPace {
  return { momentMs: 12, perMoment: () => (share() > 3 / 4 ? 20 : 1) };
}

export class Refusals {
  private readonly clock: Clock;
  private readonly pace: RefusalPace;
  /** In the order of asking. */
  private readonly waiting = new Set<{ answer(): void }>();
  private answered = 0;
  private isTiming = false;

  constructor(clock: Clock, pace = defaultPace) {
    this.clock = clock;
    this.pace = pace;
  }

  /**
   * `tell` is called once, now or later, in the order of the calls of `add`.
   *
   * @returns Cancels a call of `tell` that is still to come.
   */
  add(answer: () => void): () => void {
    if (!this.isTiming) this.startMoment();
    if (this.answered >= this.pace.perMoment()) {
      const one = { answer };
      this.waiting.add(one);
      return () => void this.waiting.delete(one);
    }
    this.answered++;
    answer();
    return () => {};
  }

  private startMoment(): void {
    this.isTiming = true;
    this.answered = 0;
    this.clock.setTimer(this.pace.momentMs, () => this.nextMoment());
  }

  private nextMoment(): void {
    const next = [...this.waiting.values().take(this.pace.perMoment())];
    const wasQuiet = this.answered === 0;
    if (wasQuiet && next.length === 0) {
      this.isTiming = false;
      return;
    }
    this.startMoment();
    this.answered = next.length;
    for (const one of next) {
      this.waiting.delete(one);
      one.answer();
    }
  }
}
