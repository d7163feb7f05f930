// Where in a text that comes in pieces is a stop sequence complete? Each character is looked at once
// for each sequence, however they repeat themselves (Knuth, Morris and Pratt).

export interface StopMatch {
  /** Characters of the piece up to the end of the sequence. */
  readonly end: number;
  readonly stop: string;
}

export class StopMatcher {
  private readonly sequences: readonly Sequence[];

  constructor(stops: readonly string[]) {
    this.sequences = stops.filter((stop) => stop !== '').map((stop) => new Sequence(stop));
  }

  /** The sequence that is complete first; of several that end together, the longest. */
  feed(piece: string): StopMatch | undefined {
    for (let at = 0; at < piece.length; at++) {
      const code = piece.charCodeAt(at);
      let found: string | undefined;
      for (const sequence of this.sequences) {
        if (sequence.step(code) && sequence.stop.length > (found?.length ?? 0)) found = sequence.stop;
      }
      if (found !== undefined) return { end: at + 1, stop: found };
    }
    return undefined;
  }

  /** How many of the last characters may be the beginning of a sequence. */
  get heldLength(): number {
    return this.sequences.reduce((longest, { matched }) => Math.max(longest, matched), 0);
  }

  /** A new text begins. */
  reset(): void {
    for (const sequence of this.sequences) sequence.matched = 0;
  }
}

class Sequence {
  readonly stop: string;
  matched = 0;
  /** For each length that matched: how much of it is a beginning of the sequence again. */
  private readonly borders: Int32Array;

  constructor(stop: string) {
    this.stop = stop;
    this.borders = bordersOf(stop);
  }

  /** True: the sequence is complete with this character. */
  step(code: number): boolean {
    let { matched } = this;
    while (matched > 0 && this.stop.charCodeAt(matched) !== code) matched = this.borders[matched - 1] ?? 0;
    if (this.stop.charCodeAt(matched) === code) matched++;
    this.matched = matched;
    return matched === this.stop.length;
  }
}

function bordersOf(stop: string): Int32Array {
  const borders = new Int32Array(stop.length);
  let border = 0;
  for (let at = 1; at < stop.length; at++) {
    while (border > 0 && stop.charCodeAt(at) !== stop.charCodeAt(border)) border = borders[border - 1] ?? 0;
    if (stop.charCodeAt(at) === stop.charCodeAt(border)) border++;
    borders[at] = border;
  }
  return borders;
}
