// How much do the answers of this process hold that their clients do not have yet, and is there room for more? One number.

/** What the answers to one request hold, until it is closed. */
export interface AnswerShare {
  /**
   * It grows by so many bytes (or, below 0, shrinks).
   *
   * @returns False: that is more than there is room for. It counts all the same, until it is given back.
   */
  change(bytes: number): boolean;
  close(): void;
}

export class AnswerRoom {
  private readonly bytesMax: number;
  private bytes = 0;

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax;
  }

  get bytesHeld(): number {
    return this.bytes;
  }

  open(): AnswerShare {
    let held = 0;
    let isClosed = false;
    return {
      change: (bytes) => {
        if (isClosed) return true;
        this.bytes += bytes;
        held += bytes;
        // One alone has room whatever its size: a bound below the largest answer would never let it through.
        return bytes <= 0 || this.bytes <= this.bytesMax || this.bytes === held;
      },
      close: () => {
        isClosed = true;
        this.bytes -= held;
        held = 0;
      },
    };
  }
}
