// Has the text of a JSON object come to its end, where it comes in pieces? Each character is looked at once: to parse
// what has come with each piece costs its square.

export class ObjectEnd {
  private depth = 0;
  private isInText = false;
  private isEscaped = false;
  /** The input is not an object. */
  private isOther = false;
  private hasEnded = false;

  /** The closing brace was read. The text up to it may still be invalid JSON. */
  get isReached(): boolean {
    return this.hasEnded;
  }

  feed(text: string): void {
    for (let at = 0; at < text.length && !this.hasEnded && !this.isOther; at++)
      this.look(text.charCodeAt(at));
  }

  private look(code: number): void {
    if (this.isEscaped) this.isEscaped = false;
    else if (this.isInText) {
      if (code === 0x5c) this.isEscaped = true;
      else if (code === 0x22) this.isInText = false;
    } else if (this.depth === 0) this.begin(code);
    else if (code === 0x22) this.isInText = true;
    else if (code === 0x7b || code === 0x5b) this.depth++;
    else if (code === 0x7d || code === 0x5d) {
      this.depth--;
      this.hasEnded = this.depth === 0;
    }
  }

  private begin(code: number): void {
    if (code === 0x7b) this.depth = 1;
    else this.isOther = code !== 0x20 && (code < 0x09 || code > 0x0d);
  }
}
