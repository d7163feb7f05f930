// What have pieces of bytes come to? However small they are, they cost little more than their bytes: small ones are joined as they
// come, each byte a few times in all.

/** From here on a piece stays as it is until all are joined. */
const mergedBytesMax = 16 * 1024;

export class Pieces {
  /** Behind each small piece there are only smaller ones. */
  private pieces: Buffer[] = [];
  private bytes = 0;

  get length(): number {
    return this.bytes;
  }

  add(piece: Buffer): void {
    this.bytes += piece.length;
    const { pieces } = this;
    let last = piece;
    while (last.length < mergedBytesMax) {
      const before = pieces.at(-1);
      if (!before || before.length > last.length) break;
      pieces.pop();
      last = Buffer.concat([before, last]);
    }
    pieces.push(last);
  }

  /** All of them as one; none are left. */
  take(): Buffer {
    const pieces = this.takeEach();
    const [only] = pieces;
    return pieces.length === 1 && only ? only : Buffer.concat(pieces);
  }

  /** Each as it is by now, in order; none are left. */
  takeEach(): readonly Buffer[] {
    const { pieces } = this;
    this.pieces = [];
    this.bytes = 0;
    return pieces;
  }
}
