// Which choices of an OpenAI-shaped stream have ended? A finish reason says so, but not for those providers that put one on every chunk.
//
// A reason in a chunk without content is the end for sure. One that comes with content is the end if nothing comes behind it; and
// once content has come behind a reason, only one without content counts.

type End = 'open' | 'said' | 'sure';

interface ChoiceState {
  end: End;
  wentOn: boolean;
}

export class ChoiceEnds {
  private readonly asked: number;
  private readonly choices = new Map<number, ChoiceState>();

  /** @param asked How many choices the stream has to end. */
  constructor(asked: number) {
    this.asked = asked;
  }

  /** One entry of `choices`. */
  see(index: number, { hasContent, hasReason }: { hasContent: boolean; hasReason: boolean }): void {
    const state = this.choices.get(index) ?? { end: 'open', wentOn: false };
    this.choices.set(index, state);
    if (hasContent && state.end !== 'open') {
      state.wentOn = true;
      state.end = 'open';
    }
    if (!hasReason) return;
    if (!hasContent) state.end = 'sure';
    else if (!state.wentOn) state.end = 'said';
  }

  /** Whether any choice ever had a reason. */
  get hasReason(): boolean {
    return this.countOf(hadReason) > 0;
  }

  /** Each choice had a reason, be it one with content behind it: enough where the stream itself says that it is over. */
  get haveReasons(): boolean {
    return this.countOf(hadReason) >= this.asked;
  }

  /** Nothing more is to come but the counts and the end mark. */
  get areSure(): boolean {
    return this.countOf(({ end }) => end === 'sure') >= this.asked;
  }

  /**
   * Whether each choice has ended where the stream stops without its end mark.
   *
   * @param isTorn It stopped in the middle of something.
   */
  areOver(isTorn: boolean): boolean {
    return isTorn ? this.areSure : this.countOf(({ end }) => end !== 'open') >= this.asked;
  }

  /** Whether this choice has ended, as far as it is known. */
  hasEnded(index: number): boolean {
    const state = this.choices.get(index);
    return state !== undefined && state.end !== 'open';
  }

  /** Content came behind a reason of this choice. */
  wentOn(index: number): boolean {
    return this.choices.get(index)?.wentOn === true;
  }

  private countOf(is: (state: ChoiceState) => boolean): number {
    let count = 0;
    for (const state of this.choices.values()) if (is(state)) count++;
    return count;
  }
}

function hadReason({ end, wentOn }: ChoiceState): boolean {
  return end !== 'open' || wentOn;
}
