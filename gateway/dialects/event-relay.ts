// How do the events of a stream go on as the bytes they came in? Cut out of the network's chunks
// here, judged by a dialect; only whole events go on.
//
// Events are handled as latin1 of UTF-8 bytes: one character per byte, so places in the text are
// places in the bytes, and nothing is decoded that is not looked at.

import { asRecord, tryParseJson } from '../json/record.ts';
import type { AnswerFacts, AnswerStream } from './dialect.ts';
import { eventBytesMax } from './sse-events.ts';

/** What a dialect makes of the events of one stream. It is not asked again behind a fault or the end. */
export interface EventJudge {
  readonly facts: AnswerFacts;
  /**
   * The bulk of a stream in one go: the events at the start of `text` that need no look each. Gives
   * where the first other event begins.
   */
  run(text: string, output: Output): number;
  /** One event without its blank line; `from` and `to` are its place in the bytes, blank line included. */
  event(event: string, from: number, to: number, output: Output): void;
  /** The upstream's body ended. Sets `facts.isComplete`, or `facts.fault` to `truncated`. */
  close(output: Output): void;
}

export function relayEvents(judge: EventJudge): AnswerStream {
  return new EventRelay(judge);
}

class EventRelay implements AnswerStream {
  readonly facts: AnswerFacts;
  private readonly judge: EventJudge;
  /** The start of an event whose end has not arrived. */
  private tail: Buffer | undefined;
  private endedWithReturn = false;
  private isAtStart = true;

  constructor(judge: EventJudge) {
    this.judge = judge;
    this.facts = judge.facts;
  }

  push(chunk: Buffer): Buffer | undefined {
    if (this.isOver() || chunk.length === 0) return undefined;
    let bytes = chunk;
    let text = chunk.toString('latin1');
    if (this.endedWithReturn || text.includes('\r')) {
      text = this.normaliseLineEnds(text);
      bytes = Buffer.from(text, 'latin1');
    }
    if (this.tail) {
      bytes = Buffer.concat([this.tail, bytes]);
      text = bytes.toString('latin1');
      this.tail = undefined;
    }
    if (this.isAtStart) {
      if (text.length < byteOrderMark.length && byteOrderMark.startsWith(text)) {
        this.tail = bytes;
        return undefined;
      }
      this.isAtStart = false;
      if (text.startsWith(byteOrderMark)) {
        text = text.slice(byteOrderMark.length);
        bytes = bytes.subarray(byteOrderMark.length);
      }
    }

    const output = new Output(bytes);
    let start = this.judge.run(text, output);
    for (;;) {
      const end = text.indexOf('\n\n', start);
      if (end === -1) break;
      const next = end + 2;
      this.event(text.slice(start, end), start, next, output);
      start = next;
      if (this.isOver()) return output.take();
    }
    if (start < bytes.length) {
      // A line end may be the first half of the blank line; it does not count.
      const size = bytes.length - start - (text.endsWith('\n') ? 1 : 0);
      if (size > eventBytesMax) this.failTooLong();
      else {
        // Copied where it is small, so that it does not keep a whole network chunk in memory.
        this.tail = Buffer.from(bytes.subarray(start));
      }
    }
    return output.take();
  }

  end(): Buffer | undefined {
    if (this.isOver()) return undefined;
    const last = this.lastEvent();
    const bytes = Buffer.from(last === undefined ? '' : `${last}\n\n`, 'latin1');
    const output = new Output(bytes);
    if (last !== undefined) this.event(last, 0, bytes.length, output);
    if (!this.isOver()) this.judge.close(output);
    return output.take();
  }

  /** Some providers leave out the last blank line; a half event is nothing. */
  private lastEvent(): string | undefined {
    const tail = this.tail?.toString('latin1').trimEnd();
    this.tail = undefined;
    if (!tail) return undefined;
    const data = readLines(tail).data.join('\n');
    return data.trim() === doneMark || asRecord(parseLatin1(data)) ? tail : undefined;
  }

  private event(event: string, from: number, to: number, output: Output): void {
    if (event.length > eventBytesMax) this.failTooLong();
    else this.judge.event(event, from, to, output);
  }

  private isOver(): boolean {
    return this.facts.isComplete || this.facts.fault !== undefined;
  }

  private failTooLong(): void {
    failMalformed(this.facts, `an event is longer than ${eventBytesMax} bytes`);
  }

  /** CRLF and lone CR to LF, also where a CRLF is cut between two chunks. */
  private normaliseLineEnds(text: string): string {
    const joined = this.endedWithReturn && text.startsWith('\n') ? text.slice(1) : text;
    this.endedWithReturn = text.endsWith('\r');
    return joined.replace(/\r\n?/g, '\n');
  }
}

/** Ends the streams of the OpenAI text dialects; some providers put it behind others too. */
export const doneMark = '[DONE]';

/** May stand before the first event, and is none of it; latin1 of its UTF-8 bytes. */
const byteOrderMark = '\u00ef\u00bb\u00bf';

export function failMalformed(facts: AnswerFacts, detail: string): void {
  facts.fault = { kind: 'malformed', detail };
}

/** What is wrong with an event that clients would parse in vain. */
export const noObject = 'an event is not a JSON object';

/** Whether data has the outer shape of a JSON object; all that is looked at where there is much of it. */
export function looksLikeObject(trimmed: string): boolean {
  return trimmed.charCodeAt(0) === 0x7b && trimmed.charCodeAt(trimmed.length - 1) === 0x7d;
}

/** The fields of an event that mean something here; `text` has LF line ends only. */
export function readLines(text: string): {
  readonly name: string | undefined;
  readonly data: readonly string[];
} {
  const data: string[] = [];
  let name: string | undefined;
  for (const line of text.split('\n')) {
    if (line.startsWith('data:')) data.push(line.slice(line.charCodeAt(5) === 0x20 ? 6 : 5));
    else if (line.startsWith('event:')) name = line.slice(6).trim();
  }
  return { name, data };
}

export function parseLatin1(text: string): unknown {
  return tryParseJson(toUtf8(text));
}

export function toUtf8(latin1: string): string {
  return Buffer.from(latin1, 'latin1').toString('utf8');
}

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
