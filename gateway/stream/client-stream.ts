// A streamed answer to the client: opened late, kept alive, and ended so that a client can tell a
// broken answer from a complete one.

import type { ServerResponse } from 'node:http';
import type { Clock } from '../../core/clock.ts';
import { watchTaking } from './taken-bytes.ts';
import { notQueued, type Timed, type TimerQueue } from './timer-queue.ts';

/** Whose answer it is. */
export interface ClientStreamOwner {
  readonly clock: Clock;
  readonly timers: TimerQueue;
  /** Status 200 and the first `keepAlive` go out after this long without content, to keep intermediaries alive. */
  readonly openAfterMs: number;
  /** Something that means nothing goes out after this long without a write. */
  readonly keepAliveMs: number;
  /** What means nothing in the client's dialect; never between the halves of an event. */
  readonly keepAlive: string;
  /** A client that takes nothing for this long is gone. Read whenever the client stops taking bytes: another target may serve by then. */
  writeStallMs(): number;
  /** Names and values in turn; asked once, when the answer is opened. */
  head(): string[];
  /** The client was given up because it takes nothing. */
  onStall(): void;
}

/** How long a half-closed connection may stay until the client closes its side. */
const lingerMs = 5_000;

export class ClientStream implements Timed {
  dueAt = 0;
  queuePlace = notQueued;
  private readonly response: ServerResponse;
  private readonly owner: ClientStreamOwner;
  private readonly drains: (() => void)[] = [];
  private lastWriteAt: number;
  /** Set while the client is full. */
  private stopWatching: (() => void) | undefined;
  private isOver = false;

  /** Its owner stops it when the response closes. */
  constructor(response: ServerResponse, owner: ClientStreamOwner) {
    this.response = response;
    this.owner = owner;
    this.lastWriteAt = owner.clock.now();
    this.setTimer();
  }

  /** After the status line, failures can only be reported inside the stream. */
  get isOpen(): boolean {
    return this.response.headersSent;
  }

  write(bytes: Buffer | string): boolean {
    if (this.isOver) return true;
    this.open();
    this.lastWriteAt = this.owner.clock.now();
    if (this.response.write(bytes)) return true;
    if (!this.stopWatching) {
      this.owner.timers.remove(this);
      this.stopWatching = watchTaking(this.response, {
        clock: this.owner.clock,
        stallMs: this.owner.writeStallMs(),
        onStall: () => this.onStall(),
      });
      this.response.once('drain', () => this.onDrained());
    }
    return false;
  }

  onDrain(resume: () => void): void {
    if (!this.stopWatching) resume();
    else this.drains.push(resume);
  }

  /** The answer is whole, and only its client holds it up: it has so long to take all of it. */
  giveUpAfter(ms: number): void {
    const cancel = this.owner.clock.setTimer(ms, () => this.onStall());
    this.response.once('close', cancel);
  }

  end(bytes: string): void {
    if (this.isOver) return;
    this.open();
    this.stop();
    this.response.end(bytes);
    if (this.stopWatching) this.destroyWhenStalled();
  }

  /**
   * Ends a broken answer: the frame is flushed, then the connection is half-closed without the
   * final chunk, so that a client that ignores the frame still sees a broken body.
   */
  breakOff(frame: string): void {
    if (this.isOver) return;
    this.open();
    this.stop();
    const { socket } = this.response;
    const stopWatching = this.destroyWhenStalled();
    // guard: broken-answer-end
    this.response.write(frame, () => {
      socket?.end();
      stopWatching();
      this.destroyAfter(lingerMs);
    });
  }

  /** Timers of this class end with the stream; a client that never reads must not keep the connection for ever. */
  private destroyWhenStalled(): () => void {
    const { response } = this;
    const { clock } = this.owner;
    const stallMs = this.owner.writeStallMs();
    const cancel = watchTaking(response, { clock, stallMs, onStall: () => response.destroy() });
    response.once('close', cancel);
    return cancel;
  }

  private destroyAfter(ms: number): void {
    const { response } = this;
    const cancel = this.owner.clock.setTimer(ms, () => response.destroy());
    response.once('close', cancel);
  }

  private open(): void {
    if (this.response.headersSent) return;
    this.response.writeHead(200, this.owner.head());
    // From here on the shorter of the two patiences counts.
    this.lastWriteAt = this.owner.clock.now();
    if (!this.isOver) this.setTimer();
  }

  /** Ends keep-alives and the watch for a stalled client. */
  stop(): void {
    this.isOver = true;
    this.owner.timers.remove(this);
    this.stopWatching?.();
  }

  private onDrained(): void {
    this.stopWatching?.();
    this.stopWatching = undefined;
    this.lastWriteAt = this.owner.clock.now();
    if (!this.isOver) this.setTimer();
    for (const resume of this.drains.splice(0)) resume();
  }

  /** One time a stream: it looks at the clock when it is due, and sets itself again. */
  onDue(): void {
    const { clock, timers, keepAlive } = this.owner;
    const dueAt = this.nextAt();
    if (dueAt <= clock.now()) this.write(keepAlive);
    // A client that is full is watched, and has enough to read.
    if (!this.isOver && !this.stopWatching) timers.set(this, this.nextAt());
  }

  private setTimer(): void {
    this.owner.timers.set(this, this.nextAt());
  }

  private nextAt(): number {
    const { openAfterMs, keepAliveMs } = this.owner;
    return this.lastWriteAt + (this.isOpen ? keepAliveMs : openAfterMs);
  }

  private onStall(): void {
    this.stop();
    this.owner.onStall();
    this.response.destroy();
  }
}
