// When is a refused request told so? At once, as long as they are few: to refuse costs little, but a client that is refused at once asks
// again at once, and refusing would then be all that is done. The others wait for the next moment, and so do their connections.

import type { Clock } from '../clock.ts';

export interface RefusalPace {
  readonly momentMs: number;
  readonly perMoment: number;
}

const defaultPace: RefusalPace = { momentMs: 100, perMoment: 200 };

export class Refusals {
  private readonly clock: Clock;
  private readonly pace: RefusalPace;
  private readonly waiting: (() => void)[] = [];
  private told = 0;
  private isTiming = false;

  constructor(clock: Clock, pace = defaultPace) {
    this.clock = clock;
    this.pace = pace;
  }

  /** `tell` is called once, now or later, in the order of asking. */
  add(tell: () => void): void {
    if (!this.isTiming) this.startMoment();
    if (this.told >= this.pace.perMoment) {
      this.waiting.push(tell);
      return;
    }
    this.told++;
    tell();
  }

  private startMoment(): void {
    this.isTiming = true;
    this.told = 0;
    this.clock.setTimer(this.pace.momentMs, () => this.nextMoment());
  }

  private nextMoment(): void {
    const next = this.waiting.splice(0, this.pace.perMoment);
    const wasQuiet = this.told === 0;
    if (wasQuiet && next.length === 0) {
      this.isTiming = false;
      return;
    }
    this.startMoment();
    this.told = next.length;
    for (const tell of next) tell();
  }
}
