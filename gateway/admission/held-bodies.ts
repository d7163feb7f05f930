// How much memory do the request bodies in flight take up, all together and for each caller? Only bytes that have come take any.

import { hasBodyRoom, hasCopyRoom } from './body-room.ts';
import type { ShedReason } from './judge-load.ts';

/** Of one caller with bodies in flight, now or lately. */
class BodyUse {
  bytes = 0;
  open = 0;
}

export class HeldBodies {
  readonly bytesMax: number;
  readonly onShed: (reason: ShedReason) => void;
  bytes = 0;
  copyBytes = 0;
  /** While true, no body grows: admitted bodies must not fill the remaining memory. */
  isMemoryShort = false;
  private readonly ofCallers = new Map<string, BodyUse>();

  constructor(bytesMax: number, onShed: (reason: ShedReason) => void) {
    this.bytesMax = bytesMax;
    this.onShed = onShed;
  }

  /** Room for one request body of this caller, until it is closed. */
  open(caller: string): HeldBody {
    let use = this.ofCallers.get(caller);
    if (!use) {
      use = new BodyUse();
      this.ofCallers.set(caller, use);
    }
    return new HeldBody(this, use);
  }

  forgetIdle(): void {
    for (const [caller, { open }] of this.ofCallers) if (open === 0) this.ofCallers.delete(caller);
  }
}

export class HeldBody {
  private readonly all: HeldBodies;
  private readonly ofCaller: BodyUse;
  private held = 0;
  private copies = 0;
  private isClosed = false;

  constructor(all: HeldBodies, ofCaller: BodyUse) {
    this.all = all;
    this.ofCaller = ofCaller;
    ofCaller.open++;
  }

  /** Whether there is room for a body of this size; reserves nothing. */
  fits(bytes: number): boolean {
    if (bytes <= this.held) return true;
    const { all } = this;
    if (all.isMemoryShort) {
      all.onShed('heap');
      return false;
    }
    const own = this.held + this.copies;
    if (hasBodyRoom(bytes, all.bytes - own, this.ofCaller.bytes - own, all.bytesMax)) return true;
    all.onShed('body_bytes');
    return false;
  }

  /** False: there is no room for a body of this size. Earlier reservations stay. */
  widen(bytes: number): boolean {
    if (!this.fits(bytes)) return false;
    if (bytes > this.held) this.take(bytes, this.copies);
    return true;
  }

  /** Whether there is room for this many bytes derived from it, in addition to it; reserves nothing, and counts no refusal. */
  mayCopy(bytes: number): boolean {
    return !this.all.isMemoryShort && this.hasRoomForCopy(bytes);
  }

  /** False: there is no room for this many more bytes derived from it. Short memory refuses no request in flight. */
  addCopy(bytes: number): boolean {
    if (this.isClosed) return true;
    if (!this.hasRoomForCopy(bytes)) {
      this.all.onShed('body_bytes');
      return false;
    }
    this.take(this.held, this.copies + bytes);
    return true;
  }

  dropCopy(bytes: number): void {
    if (!this.isClosed) this.take(this.held, this.copies - bytes);
  }

  close(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.take(0, 0);
    this.ofCaller.open--;
  }

  private hasRoomForCopy(bytes: number): boolean {
    const { all, held, copies } = this;
    const own = held + copies;
    const others = {
      bytes: all.bytes - own,
      ofCaller: this.ofCaller.bytes - own,
      copies: all.copyBytes - copies,
    };
    return hasCopyRoom(bytes, { body: held, copies }, others, all.bytesMax);
  }

  private take(body: number, copied: number): void {
    const change = body + copied - this.held - this.copies;
    this.all.bytes += change;
    this.all.copyBytes += copied - this.copies;
    this.ofCaller.bytes += change;
    this.held = body;
    this.copies = copied;
  }
}
