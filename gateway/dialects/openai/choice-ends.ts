// Which choices of an OpenAI-shaped stream have ended? A finish reason says so, but not for those providers that put one on every chunk.
//
// A reason in a chunk without content is the end for sure, except in the chunk that begins an answer, or once content has followed a reason.
// Any other is the end if nothing follows it; with content, only if no content has followed an earlier reason.

interface ChoiceState {
  readonly end: 'open' | 'said' | 'sure';
  /** Content came after a reason. */
  readonly wentOn: boolean;
}

/** One entry of `choices`. */
interface Entry {
  readonly hasContent: boolean;
  readonly hasReason: boolean;
  /** No content of any choice has come before it. */
  readonly isEarly: boolean;
}

/** More choices than anybody asks for: an upstream may make up indexes. */
const choicesMax = 1_000;

export class ChoiceEnds {
  private readonly asked: number;
  private readonly choices = new Map<number, ChoiceState>();
  private reasons = 0;
  private ends = 0;
  private sureEnds = 0;

  /** @param asked How many choices the stream has to end. */
  constructor(asked: number) {
    this.asked = asked;
  }

  see(index: number, entry: Entry): void {
    const before = this.choices.get(index);
    if (before === undefined && this.choices.size >= Math.max(this.asked, choicesMax)) return;
    // As nearly all are: it changes nothing.
    if (before?.end === 'open' && !entry.hasReason) return;
    const after = stateAfter(before, entry);
    if (before !== undefined) this.count(before, -1);
    this.count(after, 1);
    this.choices.set(index, after);
  }

  /** Whether any choice ever had a reason. */
  get hasReason(): boolean {
    return this.reasons > 0;
  }

  /** Each choice had a reason, even if content followed it: enough if the stream itself says that it is over. */
  get haveReasons(): boolean {
    return this.reasons >= this.asked;
  }

  /** Nothing more is to come but the counts and the end mark. */
  get areSure(): boolean {
    return this.sureEnds >= this.asked;
  }

  /**
   * Whether each choice has ended where the stream stops without its end mark.
   *
   * @param isTorn It stopped in the middle of something.
   */
  areOver(isTorn: boolean): boolean {
    return isTorn ? this.areSure : this.ends >= this.asked;
  }

  /** Whether this choice has ended, as far as it is known. */
  hasEnded(index: number): boolean {
    const state = this.choices.get(index);
    return state !== undefined && state.end !== 'open';
  }

  /** Whether this choice ever had a reason. */
  hasReasonOf(index: number): boolean {
    return this.hasEnded(index) || this.wentOn(index);
  }

  isSure(index: number): boolean {
    return this.choices.get(index)?.end === 'sure';
  }

  /** Content came after a reason of this choice. */
  wentOn(index: number): boolean {
    return this.choices.get(index)?.wentOn === true;
  }

  private count({ end, wentOn }: ChoiceState, by: 1 | -1): void {
    if (end !== 'open' || wentOn) this.reasons += by;
    if (end !== 'open') this.ends += by;
    if (end === 'sure') this.sureEnds += by;
  }
}

function stateAfter(before: ChoiceState | undefined, { hasContent, hasReason, isEarly }: Entry): ChoiceState {
  const { end, wentOn: wentOnBefore } = before ?? { end: 'open', wentOn: false };
  const wentOn = wentOnBefore || (hasContent && end !== 'open');
  if (!hasReason) return { end: hasContent ? 'open' : end, wentOn };
  if (!hasContent) return { end: (before === undefined && isEarly) || wentOn ? 'said' : 'sure', wentOn };
  return { end: wentOn ? 'open' : 'said', wentOn };
}
