// Which bytes of an answer are held until it is whole? All bytes of its calls, until all calls have answered. An answer that is too long
// to be held goes out, and later bytes go out as they come.

import type { CancelSignal } from './cancellation.ts';
import { Pieces } from './pieces.ts';

interface Client {
  /** False: it is full. */
  write(bytes: Buffer): boolean;
  onDrain(resume: () => void): void;
}

interface HeldAnswerOptions {
  /** Above this the answer is no longer held. */
  readonly bytesMax: number;
  /**
   * Called when the number of held bytes changes, with the difference (below 0: it shrank).
   *
   * @returns False: the process has no room for them.
   */
  onHeld(change: number): boolean;
  /** Called once, when the answer is too long. */
  onTooLong(): void;
}

/** Events are given out in portions of about this size: a slow reader has time for each of them. */
const portionBytes = 64 * 1024;

export class HeldAnswer implements Client {
  private readonly client: Client;
  private readonly options: HeldAnswerOptions;
  private readonly parts = new Pieces();
  private isOpen = false;

  constructor(client: Client, options: HeldAnswerOptions) {
    this.client = client;
    this.options = options;
  }

  onHeld(change: number): boolean {
    return this.options.onHeld(change);
  }

  /** @param bytes Whole events. */
  write(bytes: Buffer): boolean {
    if (this.isOpen) return this.client.write(bytes);
    this.parts.add(bytes);
    this.options.onHeld(bytes.length);
    if (this.parts.length <= this.options.bytesMax) return true;
    this.options.onTooLong();
    this.isOpen = true;
    const held = this.parts.take();
    const isReady = this.client.write(held);
    const giveBack = (): void => void this.options.onHeld(-held.length);
    if (isReady) giveBack();
    else this.client.onDrain(giveBack);
    return isReady;
  }

  onDrain(resume: () => void): void {
    if (this.isOpen) this.client.onDrain(resume);
    else resume();
  }

  /**
   * Gives out what is held, as fast as the client reads; resolves early where the caller leaves. All of it counts as held until
   * then: portions are parts of one piece of memory.
   */
  async release(caller: CancelSignal): Promise<void> {
    this.isOpen = true;
    const bytes = this.parts.take();
    for (let from = 0; from < bytes.length && !caller.isCancelled; ) {
      const to = endOfPortion(bytes, from);
      const isReady = this.client.write(bytes.subarray(from, to));
      from = to;
      if (!isReady) await this.drained(caller);
    }
    if (bytes.length > 0) this.options.onHeld(-bytes.length);
  }

  /** The answer failed: no callback follows. */
  discard(): void {
    if (this.parts.length > 0) this.options.onHeld(-this.parts.length);
    this.parts.take();
  }

  private drained(caller: CancelSignal): Promise<void> {
    return new Promise((resolve) => {
      const stopListening = caller.onCancel(resolve);
      this.client.onDrain(() => {
        stopListening();
        resolve();
      });
    });
  }
}

/** Between two events: whatever follows must not find itself inside one. */
function endOfPortion(bytes: Buffer, from: number): number {
  const least = from + portionBytes;
  if (least >= bytes.length) return bytes.length;
  const blankLine = bytes.indexOf('\n\n', least - 2);
  return blankLine === -1 ? bytes.length : blankLine + 2;
}
