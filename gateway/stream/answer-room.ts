// How much do the answers of this process hold that their clients have not read yet, and is there room for more? One number for all, and
// one for each caller: the caller that holds most is refused first.

/** What the answers to one request hold, until it is closed. */
export interface AnswerShare {
  /**
   * @param change By how many bytes it grows (below 0: shrinks).
   *
   * @returns False: that is more than there is room for. It counts all the same, until it is given back.
   */
  change(bytes: number): boolean;
  close(): void;
}

/** In bytes, those that are asked about included. */
interface Held {
  readonly ofAll: number;
  readonly ofCaller: number;
  readonly ofRequest: number;
}

/** As large as one plain answer may be; a bound below it would never let that one through. */
const aloneBytesMax = 32 * 1024 * 1024;

/** The rest is for callers that hold little. */
const commonShare = 7 / 8;

/** Of the room: what a caller has whatever others hold, as long as there is any. */
const littleShare = 1 / 128;

/** Most answers are smaller than this. */
const usualBytes = 64 * 1024;

export class AnswerRoom {
  private readonly bytesMax: number;
  private bytes = 0;
  /** Of those that hold anything. */
  private readonly bytesOf = new Map<string, number>();

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax;
  }

  get bytesHeld(): number {
    return this.bytes;
  }

  /** Whether a usual answer would have room; asked before an upstream is, whose answer has to be paid for. */
  hasRoomFor(callerId: string): boolean {
    const ofCaller = this.heldBy(callerId) + usualBytes;
    return hasRoom({ ofAll: this.bytes + usualBytes, ofCaller, ofRequest: usualBytes }, this.bytesMax);
  }

  /** @param callerId Whose request it is: the id of the key. */
  open(callerId: string): AnswerShare {
    return new Share(this, callerId);
  }

  /** Adds to the bytes that a caller holds. */
  add(callerId: string, bytes: number): void {
    this.bytes += bytes;
    const ofCaller = this.heldBy(callerId) + bytes;
    if (ofCaller === 0) this.bytesOf.delete(callerId);
    else this.bytesOf.set(callerId, ofCaller);
  }

  /** Whether what it holds by now is no more than there is room for. */
  suffices(callerId: string, ofRequest: number): boolean {
    return hasRoom({ ofAll: this.bytes, ofCaller: this.heldBy(callerId), ofRequest }, this.bytesMax);
  }

  private heldBy(callerId: string): number {
    return this.bytesOf.get(callerId) ?? 0;
  }
}

class Share implements AnswerShare {
  private readonly room: AnswerRoom;
  private readonly callerId: string;
  private held = 0;
  private isClosed = false;

  constructor(room: AnswerRoom, callerId: string) {
    this.room = room;
    this.callerId = callerId;
  }

  change(bytes: number): boolean {
    if (this.isClosed) return true;
    this.held += bytes;
    this.room.add(this.callerId, bytes);
    return bytes <= 0 || this.room.suffices(this.callerId, this.held);
  }

  close(): void {
    this.isClosed = true;
    if (this.held !== 0) this.room.add(this.callerId, -this.held);
    this.held = 0;
  }
}

/** One caller may hold as much as it leaves free: alone nearly half, beside another one less, and so there is always some left. */
function hasRoom({ ofAll, ofCaller, ofRequest }: Held, bytesMax: number): boolean {
  if (ofAll === ofRequest) return ofAll <= Math.max(bytesMax, aloneBytesMax);
  const leftFree = bytesMax * commonShare - ofAll;
  return ofAll <= bytesMax && ofCaller <= Math.max(leftFree, bytesMax * littleShare);
}
