// Bodies that became whole in one turn of the event loop, and pieces of answers that came in it, are served at its end, stage by stage: the
// code of one stage stays in the caches of the processor from one request to the next, and a peer is woken once for all that it gets. A busy
// process spends a quarter less by it; an idle one pays one immediate.

/** Something that has its part at the end of the turn. Does not throw. */
export interface Staged {
  onTurnEnd(): void;
}

class Stage {
  private readonly line: (Staged | undefined)[] = [];
  private length = 0;
  private next = 0;

  get isEmpty(): boolean {
    return this.next === this.length;
  }

  add(one: Staged): void {
    this.line[this.length++] = one;
  }

  run(): void {
    while (this.next < this.length) {
      const one = this.line[this.next];
      this.line[this.next++] = undefined;
      one?.onTurnEnd();
    }
    this.next = 0;
    this.length = 0;
  }
}

export class TurnEnd {
  private readonly schedule: (run: () => void) => void;
  private readonly answers = new Stage();
  private readonly writes = new Stage();
  private readonly bodies = new Stage();
  private readonly records = new Stage();
  private readonly run = (): void => this.runStages();
  private isScheduled = false;
  private isRunning = false;

  /** @param schedule Calls back at the end of the turn. */
  constructor(schedule: (run: () => void) => void) {
    this.schedule = schedule;
  }

  /** An upstream has sent more of its answer. */
  answer(one: Staged): void {
    this.answers.add(one);
    this.wake();
  }

  /** A client has sent all of its body. */
  body(one: Staged): void {
    this.bodies.add(one);
    this.wake();
  }

  /**
   * A client is given its answer: after all answers of the turn have been read.
   *
   * @returns False: none is being read, and it is given at once.
   */
  writesLater(one: Staged): boolean {
    if (this.isRunning) this.writes.add(one);
    return this.isRunning;
  }

  /**
   * An attempt is to be written down: after all else.
   *
   * @returns False: nothing else is being served, and it is written down at once.
   */
  recordsLater(one: Staged): boolean {
    if (this.isRunning) this.records.add(one);
    return this.isRunning;
  }

  private wake(): void {
    if (this.isScheduled || this.isRunning) return;
    this.isScheduled = true;
    this.schedule(this.run);
  }

  private runStages(): void {
    const { answers, writes, bodies, records } = this;
    this.isScheduled = false;
    this.isRunning = true;
    try {
      while (!answers.isEmpty || !writes.isEmpty || !bodies.isEmpty) {
        answers.run();
        writes.run();
        bodies.run();
      }
      records.run();
    } finally {
      this.isRunning = false;
      // Where one has thrown after all, the others still have their part.
      if (!answers.isEmpty || !writes.isEmpty || !bodies.isEmpty || !records.isEmpty) this.wake();
    }
  }
}

/** Of this process. */
export const turnEnd = new TurnEnd(setImmediate);
