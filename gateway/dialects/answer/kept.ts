// What does it take to keep something of an answer until later? Everything that is kept is counted, so that an
// answer whose end never comes has a bound.

/** Of the heap, by value: objects take some three times their JSON. */
export function heapBytesOf(value: unknown): number {
  if (typeof value === 'string') return Buffer.byteLength(value);
  return value === undefined ? 0 : 3 * JSON.stringify(value).length;
}

/** Pieces that are joined at once. */
const joinedAtOnce = 64;

/** Text that comes in pieces and is wanted at its end: appended to a string, each piece would take 50 bytes more. */
export class KeptText {
  private readonly joined: string[] = [];
  private pieces: string[] = [];
  private length = 0;

  get isEmpty(): boolean {
    return this.length === 0;
  }

  add(piece: string): void {
    this.length += piece.length;
    this.pieces.push(piece);
    if (this.pieces.length >= joinedAtOnce) this.join();
  }

  toString(): string {
    this.join();
    const text = this.joined.join('');
    this.joined.splice(0, this.joined.length, text);
    return text;
  }

  private join(): void {
    if (this.pieces.length > 0) this.joined.push(this.pieces.join(''));
    this.pieces = [];
  }
}
