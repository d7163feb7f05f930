// When does failover end? At the first content handed to the client; until then everything an
// attempt gives is held here and can still be thrown away. The only place that decides it.

/** Where committed bytes go: the client's answer. */
export interface ClientSink {
  /** False: the client is full; `onDrain` calls back once when it can take more. */
  write(bytes: Buffer): boolean;
  onDrain(resume: () => void): void;
}

/**
 * Framing without content (roles, pings) is small, but for the first two events of a response: each
 * repeats the instructions and tools of the request, in an event of at most one mebibyte. An upstream
 * that sends more than that is not answering.
 */
export const heldBytesMax = 2 * 1024 * 1024 + 64 * 1024;

export class CommitPoint {
  private readonly sink: ClientSink;
  private held: Buffer[] = [];
  private heldBytes = 0;
  private hasCommitted = false;

  constructor(sink: ClientSink) {
    this.sink = sink;
  }

  get isCommitted(): boolean {
    return this.hasCommitted;
  }

  /** Too much was held without content: the attempt has failed. */
  get isOverfull(): boolean {
    return this.heldBytes > heldBytesMax;
  }

  /**
   * @param hasContent Whether the attempt has given content by now.
   * @returns False: the client is full.
   */
  take(bytes: Buffer | undefined, hasContent: boolean): boolean {
    if (!bytes || bytes.length === 0) return true;
    if (this.hasCommitted) return this.sink.write(bytes);
    this.held.push(bytes);
    this.heldBytes += bytes.length;
    return hasContent ? this.commit() : true;
  }

  /** A complete answer is given out whole, also one without content. */
  commit(): boolean {
    this.hasCommitted = true;
    const [only] = this.held;
    const bytes = this.held.length === 1 && only ? only : Buffer.concat(this.held);
    this.held = [];
    this.heldBytes = 0;
    return bytes.length === 0 || this.sink.write(bytes);
  }

  /** The attempt failed before it was committed: the client never hears of it. */
  discard(): void {
    this.held = [];
    this.heldBytes = 0;
  }
}
