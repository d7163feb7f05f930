// What did a stream begin to say? A copy of its first bytes with content, for whoever has to count what its upstream did not.

/** Some twenty events of a token each, or the beginning of a few that hold more. */
const sampleBytesMax = 8 * 1024;

export class StreamSample {
  private readonly pieces: Buffer[] = [];
  private bytes = 0;

  /** A copy: what an upstream sends lies in larger buffers, which must not live as long as the stream. */
  add(chunk: Buffer): void {
    const room = sampleBytesMax - this.bytes;
    if (room <= 0) return;
    const piece = Buffer.from(chunk.subarray(0, room));
    this.pieces.push(piece);
    this.bytes += piece.length;
  }

  /** Undefined where nothing came. */
  take(): Buffer | undefined {
    return this.bytes === 0 ? undefined : Buffer.concat(this.pieces);
  }
}
