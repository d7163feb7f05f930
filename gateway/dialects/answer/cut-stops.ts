// Where does an answer end if the upstream was not told all stop sequences? The gateway cuts the
// text before the first one, as an upstream would have done.

import type { AnswerChoice, ModelAnswer, Part } from '../conversation.ts';
import type { AnswerFacts, StreamDecoder } from '../dialect.ts';
import type { StreamPart } from '../stream-part.ts';

/** A plain answer, each choice cut at its first stop sequence. */
export function cutAnswer(answer: ModelAnswer, stops: readonly string[]): ModelAnswer {
  return { ...answer, choices: answer.choices.map((choice) => cutChoice(choice, stops)) };
}

function cutChoice(choice: AnswerChoice, stops: readonly string[]): AnswerChoice {
  const kept: Part[] = [];
  for (const part of choice.parts) {
    const found = part.type === 'text' ? findStop(part.text, stops) : undefined;
    if (part.type === 'text' && found) {
      if (found.at > 0) kept.push({ ...part, text: part.text.slice(0, found.at) });
      return { ...choice, parts: kept, finish: 'stop-sequence', stopSequence: found.stop };
    }
    kept.push(part);
  }
  return choice;
}

/** A decoder of one choice whose text ends at the first stop sequence; nothing comes behind it. */
export function cutStream(decoder: StreamDecoder, stops: readonly string[]): StreamDecoder {
  return new CutStream(decoder, stops);
}

class CutStream implements StreamDecoder {
  private readonly decoder: StreamDecoder;
  private readonly stops: readonly string[];
  /** Text that may be the beginning of a stop sequence. */
  private held = '';
  private textIndex: number | undefined;
  private isCut = false;

  constructor(decoder: StreamDecoder, stops: readonly string[]) {
    this.decoder = decoder;
    this.stops = stops;
  }

  get facts(): AnswerFacts {
    return this.decoder.facts;
  }

  push(chunk: Buffer): readonly StreamPart[] {
    return this.isCut ? [] : this.cut(this.decoder.push(chunk));
  }

  end(): readonly StreamPart[] {
    return this.isCut ? [] : this.cut(this.decoder.end());
  }

  private cut(parts: readonly StreamPart[]): readonly StreamPart[] {
    const kept: StreamPart[] = [];
    for (const part of parts) {
      if (this.isCut) break;
      this.take(part, kept);
    }
    return kept;
  }

  private take(part: StreamPart, kept: StreamPart[]): void {
    if (part.type === 'part-start' && part.head.type === 'text') this.textIndex = part.index;
    if (part.type === 'part-delta' && part.index === this.textIndex) {
      this.text(part, kept);
      return;
    }
    if (part.type === 'part-end' && part.index === this.textIndex) {
      if (this.held !== '') kept.push({ type: 'part-delta', choice: 0, index: part.index, text: this.held });
      this.held = '';
      this.textIndex = undefined;
    }
    kept.push(part);
  }

  private text(part: Extract<StreamPart, { type: 'part-delta' }>, kept: StreamPart[]): void {
    const text = this.held + part.text;
    const found = findStop(text, this.stops);
    const end = found ? found.at : text.length - heldLength(text, this.stops);
    this.held = text.slice(end);
    // Log probabilities go with the token, which is held back with it or not at all.
    if (end > 0) kept.push({ ...part, text: text.slice(0, end) });
    if (!found) return;
    this.isCut = true;
    this.facts.isComplete = true;
    this.facts.isCut = true;
    kept.push(
      { type: 'part-end', choice: 0, index: part.index },
      { type: 'choice-end', choice: 0, finish: 'stop-sequence', stopSequence: found.stop },
    );
  }
}

/** The stop sequence that is complete first, as a model meets it; of two the longer one. */
function findStop(
  text: string,
  stops: readonly string[],
): { readonly at: number; readonly stop: string } | undefined {
  let found: { readonly at: number; readonly stop: string } | undefined;
  for (const stop of stops) {
    const at = text.indexOf(stop);
    if (at === -1 || stop === '') continue;
    const end = at + stop.length;
    const foundEnd = found ? found.at + found.stop.length : Number.POSITIVE_INFINITY;
    if (end < foundEnd || (end === foundEnd && at < (found?.at ?? 0))) found = { at, stop };
  }
  return found;
}

/** How much of the end of the text could be the beginning of a stop sequence. */
function heldLength(text: string, stops: readonly string[]): number {
  let longest = 0;
  for (const stop of stops) {
    for (let length = Math.min(stop.length - 1, text.length); length > longest; length--) {
      if (stop.startsWith(text.slice(-length))) longest = length;
    }
  }
  return longest;
}
