// How do the events of a stream go on as the bytes they came in? Cut out of the network's chunks
// here, judged by a dialect; only whole events go on.
//
// Events are handled as latin1 of UTF-8 bytes: one character per byte, so places in the text are
// places in the bytes, and nothing is decoded that is not looked at.

import { asRecord } from '../../json/record.ts';
import { Pieces } from '../../stream/pieces.ts';
import { isOver } from '../answer/answer-facts.ts';
import { failMalformed, failTooLarge } from '../answer/malformed.ts';
import type { AnswerFacts, AnswerStream } from '../dialect.ts';
import { doneMark, parseLatin1, readLines } from './event-text.ts';
import { Output } from './output.ts';

/** A dialect's handling of the events of one stream. It is not called again after a fault or the end. */
export interface EventJudge {
  readonly facts: AnswerFacts;
  /** A longer event is too much for us. */
  readonly eventBytesMax: number;
  /**
   * The fast path, for nearly all of a stream: gives out the first events of these bytes that need no parsing. Gives where the first other
   * event begins.
   */
  pass(bytes: Buffer, output: Output): number;
  /**
   * The events from this place on that need no look each; `text` is latin1 of `bytes`. Gives where the first other event begins.
   */
  run(text: string, bytes: Buffer, from: number, output: Output): number;
  /** One event without its blank line; `from` and `to` are its place in the bytes, blank line included. */
  event(event: string, from: number, to: number, output: Output): void;
  /** The upstream's body ended. Sets `facts.isComplete`, or `facts.fault` to `truncated`. */
  close(output: Output): void;
  /** See `AnswerStream`. */
  readonly flaw?: (() => string | undefined) | undefined;
}

export function relayEvents(judge: EventJudge): AnswerStream {
  return new EventRelay(judge);
}

class EventRelay implements AnswerStream {
  readonly facts: AnswerFacts;
  private readonly judge: EventJudge;
  private readonly output = new Output();
  /** The start of an event whose end has not arrived. */
  private readonly tail = new Pieces();
  private tailEndsLine = false;
  private endedWithReturn = false;
  private isAtStart = true;

  constructor(judge: EventJudge) {
    this.judge = judge;
    this.facts = judge.facts;
  }

  push(chunk: Buffer): Buffer | undefined {
    if (isOver(this.facts)) return undefined;
    const passed = this.isBetween() && isPlain(chunk) ? this.pass(chunk) : 0;
    if (passed > 0 && passed === chunk.length) return this.output.take();
    const given = this.relay(chunk, passed);
    this.facts.pendingBytes = isOver(this.facts) ? 0 : this.tail.length;
    return given;
  }

  /** All that came before was whole events. */
  private isBetween(): boolean {
    return this.tail.length === 0 && !this.isAtStart && !this.endedWithReturn;
  }

  private pass(chunk: Buffer): number {
    this.output.begin(chunk);
    return this.judge.pass(chunk, this.output);
  }

  /** @param from What begins here is not given out yet. */
  private relay(chunk: Buffer, from: number): Buffer | undefined {
    let bytes = chunk;
    let text = chunk.toString('latin1');
    if (this.endedWithReturn || text.includes('\r')) {
      text = this.normaliseLineEnds(text);
      bytes = Buffer.from(text, 'latin1');
    }
    const nulAt = text.indexOf('\0');
    if (nulAt !== -1) {
      this.endedWithReturn = false;
      const given = this.relay(bytes.subarray(0, nulAt), 0);
      if (!isOver(this.facts)) failMalformed(this.facts, 'there is a NUL byte in the stream');
      return given;
    }
    if (text === '') return undefined;
    if (this.tail.length > 0) {
      if (!this.isAtStart && !this.endsEvent(text)) {
        this.keep(bytes);
        return undefined;
      }
      this.tail.add(bytes);
      bytes = this.tail.take();
      text = bytes.toString('latin1');
    }
    if (this.isAtStart) {
      if (text.length < byteOrderMark.length && byteOrderMark.startsWith(text)) {
        this.keep(bytes);
        return undefined;
      }
      this.isAtStart = false;
      if (text.startsWith(byteOrderMark)) {
        text = text.slice(byteOrderMark.length);
        bytes = bytes.subarray(byteOrderMark.length);
      }
    }

    const { output } = this;
    output.begin(bytes);
    let start = from;
    for (;;) {
      start = this.judge.run(text, bytes, start, output);
      const end = text.indexOf('\n\n', start);
      if (end === -1) break;
      const next = end + 2;
      this.event(text.slice(start, end), start, next, output);
      start = next;
      if (isOver(this.facts)) return output.take();
    }
    // Copied, so that it does not keep a whole network chunk in memory.
    if (start < bytes.length) this.keep(Buffer.from(bytes.subarray(start)));
    return output.take();
  }

  /** Whether the event whose start is kept ends in what follows it: only then is all of it looked at. */
  private endsEvent(text: string): boolean {
    return (this.tailEndsLine && text.startsWith('\n')) || text.includes('\n\n');
  }

  private keep(bytes: Buffer): void {
    this.tail.add(bytes);
    this.tailEndsLine = bytes.at(-1) === 0x0a;
    // A line end may be the first half of the blank line; it does not count.
    if (this.tail.length - (this.tailEndsLine ? 1 : 0) > this.judge.eventBytesMax) this.failTooLong();
  }

  flaw(): string | undefined {
    return this.judge.flaw?.();
  }

  end(): Buffer | undefined {
    if (isOver(this.facts)) return undefined;
    this.facts.pendingBytes = 0;
    const last = this.lastEvent();
    const bytes = Buffer.from(last === undefined ? '' : `${last}\n\n`, 'latin1');
    const { output } = this;
    output.begin(bytes);
    if (last !== undefined) this.event(last, 0, bytes.length, output);
    if (!isOver(this.facts)) this.judge.close(output);
    return output.take();
  }

  /** Some providers leave out the last blank line; a half event is nothing. */
  private lastEvent(): string | undefined {
    const kept = this.tail.take().toString('latin1');
    const tail = kept.trimEnd();
    if (tail === '') return undefined;
    const data = readLines(tail).data.join('\n');
    if (data.trim() === doneMark || asRecord(parseLatin1(data))) return tail;
    // Lines without data are complete at their end.
    if (data !== '' || !kept.endsWith('\n')) this.facts.isTorn = true;
    return undefined;
  }

  private event(event: string, from: number, to: number, output: Output): void {
    if (event.length > this.judge.eventBytesMax) this.failTooLong();
    else this.judge.event(event, from, to, output);
  }

  private failTooLong(): void {
    failTooLarge(this.facts, `an event of it is longer than ${this.judge.eventBytesMax} bytes`);
  }

  /** CRLF and lone CR to LF, also where a CRLF is cut between two chunks. */
  private normaliseLineEnds(text: string): string {
    const joined = this.endedWithReturn && text.startsWith('\n') ? text.slice(1) : text;
    this.endedWithReturn = text.endsWith('\r');
    return joined.replace(/\r\n?/g, '\n');
  }
}

/** Nothing in it has to be made out or refused before it is judged. */
function isPlain(bytes: Buffer): boolean {
  return !bytes.includes(0x0d) && !bytes.includes(0);
}

/** A server may send it before the first event, and it is not part of that event; latin1 of its UTF-8 bytes. */
const byteOrderMark = '\u00ef\u00bb\u00bf';
