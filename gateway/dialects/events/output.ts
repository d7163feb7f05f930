// Which of the incoming bytes are forwarded, and what replaces the others?

const nothing = Buffer.alloc(0);

/** Collects the output: ranges of the incoming bytes, or rewritten events. One per stream: a chunk is nearly always one range. */
export class Output {
  private bytes: Buffer = nothing;
  /** Before the range. */
  private parts: Buffer[] = [];
  private from = -1;
  private to = -1;

  /** @param bytes That came. */
  begin(bytes: Buffer): void {
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
    this.addBytes(Buffer.from(events, 'latin1'));
  }

  /** Whole events. */
  addBytes(events: Buffer): void {
    this.closeRange();
    this.parts.push(events);
  }

  take(): Buffer | undefined {
    const range = this.takeRange();
    const { parts } = this;
    this.bytes = nothing;
    if (parts.length === 0) return range;
    this.parts = [];
    if (range) parts.push(range);
    return parts.length === 1 ? parts[0] : Buffer.concat(parts);
  }

  private closeRange(): void {
    const range = this.takeRange();
    if (range) this.parts.push(range);
  }

  private takeRange(): Buffer | undefined {
    const { bytes, from, to } = this;
    if (from === -1) return undefined;
    this.from = -1;
    this.to = -1;
    return from === 0 && to === bytes.length ? bytes : bytes.subarray(from, to);
  }
}
