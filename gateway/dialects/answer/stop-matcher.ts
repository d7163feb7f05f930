// Where in a text that comes in pieces is a stop sequence complete? Each character is looked at once,
// however many sequences there are.

import { buildStopWords, lengthOf, type StopWords, start, step } from './stop-words.ts';

export interface StopMatch {
  /** Characters of the piece up to the end of the sequence. */
  readonly end: number;
  readonly stop: string;
}

export class StopMatcher {
  private readonly words: StopWords;
  private state = start;

  constructor(stops: readonly string[]) {
    this.words = buildStopWords(stops.filter((stop) => stop !== ''));
  }

  /** The sequence that is complete first; of several that end together, the longest. Behind it a new text begins. */
  feed(piece: string): StopMatch | undefined {
    for (let at = 0; at < piece.length; at++) {
      this.state = step(this.words, this.state, piece.charCodeAt(at));
      const stop = this.words.shorter[this.state] === -1 ? this.words.complete.get(this.state) : undefined;
      if (stop === undefined) continue;
      this.reset();
      return { end: at + 1, stop };
    }
    return undefined;
  }

  /** How many of the last characters may be the beginning of a sequence. */
  get heldLength(): number {
    return lengthOf(this.words, this.state);
  }

  /** A new text begins. */
  reset(): void {
    this.state = start;
  }
}
