// How did a stream begin? Keeps a copy of its first bytes with content, to estimate the tokens that its upstream did not count.

/** Some twenty events of a token each, or the beginning of a few that hold more. */
const sampleBytesMax = 8 * 1024;
const sampleBytesMin = 1024;

const nothing = Buffer.alloc(0);

export class StreamSample {
  private kept = nothing;
  private bytes = 0;

  /** A copy: what an upstream sends lies in larger buffers, which must not live as long as the stream. */
  add(chunk: Buffer): void {
    if (this.bytes === sampleBytesMax) return;
    const end = Math.min(this.bytes + chunk.length, sampleBytesMax);
    if (end > this.kept.length) this.grow(Math.max(end, 2 * this.kept.length, sampleBytesMin));
    chunk.copy(this.kept, this.bytes, 0, end - this.bytes);
    this.bytes = end;
  }

  /** Undefined if nothing came. */
  take(): Buffer | undefined {
    return this.bytes === 0 ? undefined : this.kept.subarray(0, this.bytes);
  }

  private grow(bytes: number): void {
    const larger = Buffer.allocUnsafe(Math.min(bytes, sampleBytesMax));
    this.kept.copy(larger, 0, 0, this.bytes);
    this.kept = larger;
  }
}
