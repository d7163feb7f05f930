// Where does an answer end if the upstream did not get all stop sequences? The gateway cuts the text
// before the first match, as an upstream would have done.

import { asRecord } from '../../json/record.ts';
import type { AnswerChoice, ModelAnswer, Part } from '../conversation.ts';
import type { AnswerFacts, StreamDecoder } from '../dialect.ts';
import type { StreamPart } from '../stream-part.ts';
import { StopMatcher } from './stop-matcher.ts';

/** A plain answer, each choice cut at its first stop sequence. */
export function cutAnswer(answer: ModelAnswer, stops: readonly string[]): ModelAnswer {
  const matcher = new StopMatcher(stops);
  return { ...answer, choices: answer.choices.map((choice) => cutChoice(choice, matcher)) };
}

function cutChoice(choice: AnswerChoice, matcher: StopMatcher): AnswerChoice {
  const kept: Part[] = [];
  let before = 0;
  for (const part of choice.parts) {
    matcher.reset();
    const found = part.type === 'text' ? matcher.feed(part.text) : undefined;
    if (part.type === 'text' && found) {
      const length = found.end - found.stop.length;
      if (length > 0) kept.push({ ...part, text: part.text.slice(0, length) });
      const { isAssumed: _, ...rest } = choice;
      return {
        ...rest,
        parts: kept,
        finish: 'stop-sequence',
        stopSequence: found.stop,
        ...(choice.logprobs ? { logprobs: firstTokens(choice.logprobs, before + length) } : {}),
      };
    }
    if (part.type === 'text') before += part.text.length;
    kept.push(part);
  }
  return choice;
}

/** The tokens that begin before this character position. */
function firstTokens(logprobs: readonly unknown[], length: number): readonly unknown[] {
  let at = 0;
  return logprobs.filter((entry) => {
    const isKept = at < length;
    const token = asRecord(entry)?.token;
    at += typeof token === 'string' ? token.length : 0;
    return isKept;
  });
}

/** A decoder of one choice whose text ends at the first stop sequence. */
export function cutStream(decoder: StreamDecoder, stops: readonly string[]): StreamDecoder {
  return new CutStream(decoder, stops);
}

interface HeldDelta {
  readonly text: string;
  readonly logprobs?: readonly unknown[];
}

class CutStream implements StreamDecoder {
  private readonly decoder: StreamDecoder;
  private readonly matcher: StopMatcher;
  /** Text that may be the beginning of a stop sequence, as it came. */
  private held: HeldDelta[] = [];
  /** Held deltas before this position have been given out. */
  private heldFrom = 0;
  private heldLength = 0;
  private textIndex: number | undefined;
  private isCut = false;

  constructor(decoder: StreamDecoder, stops: readonly string[]) {
    this.decoder = decoder;
    this.matcher = new StopMatcher(stops);
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
    if (part.type === 'part-start' && part.head.type === 'text') {
      this.textIndex = part.index;
      this.matcher.reset();
    }
    if (part.type === 'part-delta' && part.index === this.textIndex) {
      this.text(part, kept);
      return;
    }
    if (part.type === 'part-end' && part.index === this.textIndex) {
      this.release(this.heldLength, part.index, kept);
      this.textIndex = undefined;
    }
    kept.push(part);
  }

  private text(part: Extract<StreamPart, { type: 'part-delta' }>, kept: StreamPart[]): void {
    const before = this.heldLength;
    this.held.push(part);
    this.heldLength += part.text.length;
    const found = this.matcher.feed(part.text);
    const end = found ? before + found.end - found.stop.length : this.heldLength - this.matcher.heldLength;
    this.release(end, part.index, kept);
    if (!found) return;
    this.isCut = true;
    // The decoder reads to the end of the bytes. A failure after the cut text does not matter.
    this.facts.fault = undefined;
    this.facts.isComplete = true;
    this.facts.isCut = true;
    kept.push(
      { type: 'part-end', choice: 0, index: part.index },
      { type: 'choice-end', choice: 0, finish: 'stop-sequence', stopSequence: found.stop },
    );
  }

  /** Releases this many held characters; log probabilities go with the first character of a token. */
  private release(length: number, index: number, kept: StreamPart[]): void {
    let left = length;
    while (left > 0) {
      const first = this.held[this.heldFrom];
      if (!first) break;
      const { text, logprobs } = first;
      const given = text.slice(0, left);
      const delta = { type: 'part-delta', choice: 0, index, text: given } as const;
      kept.push(logprobs ? { ...delta, logprobs } : delta);
      left -= given.length;
      if (given.length < text.length) this.held[this.heldFrom] = { text: text.slice(given.length) };
      else this.heldFrom++;
    }
    this.heldLength -= length;
    // Moved together now and then: for each piece it would cost as much as all that is held.
    if (this.heldFrom * 2 > this.held.length) {
      this.held = this.held.slice(this.heldFrom);
      this.heldFrom = 0;
    }
  }
}
