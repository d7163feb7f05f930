// Bodies that became whole in one turn of the event loop, and pieces of answers that came in it, are served at its end, stage by stage: the
// code of one stage stays in the caches of the processor from one request to the next, and a peer is woken once for all that it gets. A busy
// process spends a quarter less by it; an idle one pays one immediate. Heads of answers, and more than 16 KiB of one in a turn, do not wait
// (upstream/send.ts). A request over a connection that was used before is written one turn later: undici first looks whether it is closed.

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
  private readonly pieces = new Stage();
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
  piece(one: Staged): void {
    this.pieces.add(one);
    this.wake();
  }

  /** A client has sent all of its body. */
  body(one: Staged): void {
    this.bodies.add(one);
    this.wake();
  }

  /**
   * A plain answer or the end of a stream is written: after all pieces of the turn. Pieces of a stream are written as they are read.
   *
   * @returns False: none is being read, and it is given at once.
   */
  writesLater(one: Staged): boolean {
    return this.joins(this.writes, one);
  }

  /**
   * The attempt of a plain answer is recorded: after all else.
   *
   * @returns False: nothing else is being served, and it is recorded at once.
   */
  recordsLater(one: Staged): boolean {
    return this.joins(this.records, one);
  }

  private joins(stage: Stage, one: Staged): boolean {
    if (this.isRunning) stage.add(one);
    return this.isRunning;
  }

  private get isServed(): boolean {
    return this.pieces.isEmpty && this.writes.isEmpty && this.bodies.isEmpty;
  }

  private wake(): void {
    if (this.isScheduled || this.isRunning) return;
    this.isScheduled = true;
    this.schedule(this.run);
  }

  private runStages(): void {
    const { pieces, writes, bodies, records } = this;
    this.isScheduled = false;
    this.isRunning = true;
    try {
      while (!this.isServed) {
        pieces.run();
        writes.run();
        bodies.run();
      }
      records.run();
    } finally {
      this.isRunning = false;
      // Where one has thrown after all, the others still have their part.
      if (!this.isServed || !records.isEmpty) this.wake();
    }
  }
}

/** Of this process. */
export const turnEnd = new TurnEnd(setImmediate);
