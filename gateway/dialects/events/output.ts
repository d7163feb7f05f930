// What goes on of the bytes that came, and what stands in their place?

/** Gathers what goes on: ranges of the bytes that came, or rewritten events. */
export class Output {
  private readonly bytes: Buffer;
  private readonly parts: Buffer[] = [];
  private from = -1;
  private to = -1;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  keep(from: number, to: number): void {
    if (this.to === from) {
      this.to = to;
      return;
    }
    this.closeRange();
    this.from = from;
    this.to = to;
  }

  /** `event` is latin1 of UTF-8 bytes, without its blank line. */
  add(event: string): void {
    this.addRaw(`${event}\n\n`);
  }

  /** Whole events, blank lines included; latin1 of UTF-8 bytes. */
  addRaw(events: string): void {
    this.closeRange();
    this.parts.push(Buffer.from(events, 'latin1'));
  }

  take(): Buffer | undefined {
    this.closeRange();
    const [only] = this.parts;
    if (this.parts.length <= 1) return only;
    return Buffer.concat(this.parts);
  }

  private closeRange(): void {
    if (this.from === -1) return;
    this.parts.push(
      this.from === 0 && this.to === this.bytes.length ? this.bytes : this.bytes.subarray(this.from, this.to),
    );
    this.from = -1;
    this.to = -1;
  }
}
