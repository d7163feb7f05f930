// Which of many deadlines is over next? All deadlines of a process wait in one queue, and the clock has one timer for the earliest: a
// request takes a place in an array instead of a timer.

import type { Clock } from '../../core/clock.ts';

/** What waits for a moment. Both numbers are kept by the queue. */
export interface Timed {
  /** Clock time. */
  dueAt: number;
  /** Where it is in the queue. */
  queuePlace: number;
  /** Called once, no earlier than `dueAt`. It may be set again. */
  onDue(): void;
}

/** The place of what is in no queue. */
export const notQueued = -1;

/** Of what has been taken out to be called, unless it is removed before its turn. */
const beingCalled = -2;

export class TimerQueue {
  private readonly clock: Clock;
  /** A heap: none is due later than the two at twice its place, and one and two more. */
  private readonly heap: Timed[] = [];
  private wakesAt = Number.POSITIVE_INFINITY;
  private cancel: (() => void) | undefined;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  get size(): number {
    return this.heap.length;
  }

  /** In place of any time that was set for it before. */
  set(timed: Timed, at: number): void {
    timed.dueAt = at;
    if (timed.queuePlace < 0) timed.queuePlace = this.heap.push(timed) - 1;
    this.settle(timed);
    if (at < this.wakesAt) this.wakeAt(at);
  }

  remove(timed: Timed): void {
    const place = timed.queuePlace;
    timed.queuePlace = notQueued;
    if (place < 0) return;
    const last = this.heap.pop();
    if (last === undefined || last === timed) return;
    this.put(last, place);
    this.settle(last);
  }

  /** Nothing that waits is called any more. */
  close(): void {
    this.cancel?.();
    this.wakesAt = Number.NEGATIVE_INFINITY;
  }

  /** The timer is left as it is where the earliest goes: most go before their time, and one look too many costs less than a timer each. */
  private wakeAt(at: number): void {
    this.cancel?.();
    this.wakesAt = at;
    this.cancel = this.clock.setTimer(Math.max(0, at - this.clock.now()), this.wake);
  }

  private readonly wake = (): void => {
    this.wakesAt = Number.POSITIVE_INFINITY;
    this.cancel = undefined;
    const now = this.clock.now();
    const due: Timed[] = [];
    for (let first = this.heap[0]; first !== undefined && first.dueAt <= now; first = this.heap[0]) {
      this.remove(first);
      first.queuePlace = beingCalled;
      due.push(first);
    }
    let called = 0;
    try {
      for (const timed of due) {
        called++;
        if (timed.queuePlace !== beingCalled) continue;
        timed.queuePlace = notQueued;
        timed.onDue();
      }
    } finally {
      // What one of them throws is no fault of the others.
      if (called < due.length)
        for (const timed of due.slice(called)) if (timed.queuePlace === beingCalled) this.set(timed, now);
      const next = this.heap[0];
      if (next !== undefined && next.dueAt < this.wakesAt) this.wakeAt(next.dueAt);
    }
  };

  /** Moves one to where its time belongs. */
  private settle(timed: Timed): void {
    const { heap } = this;
    let place = timed.queuePlace;
    while (place > 0) {
      const above = (place - 1) >> 1;
      const parent = heap[above];
      if (parent === undefined || parent.dueAt <= timed.dueAt) break;
      this.put(parent, place);
      place = above;
    }
    for (;;) {
      const below = this.earlierOf(2 * place + 1, 2 * place + 2);
      const child = heap[below];
      if (child === undefined || child.dueAt >= timed.dueAt) break;
      this.put(child, place);
      place = below;
    }
    this.put(timed, place);
  }

  private earlierOf(left: number, right: number): number {
    const first = this.heap[left];
    const second = this.heap[right];
    return first && second && second.dueAt < first.dueAt ? right : left;
  }

  private put(timed: Timed, place: number): void {
    this.heap[place] = timed;
    timed.queuePlace = place;
  }
}
