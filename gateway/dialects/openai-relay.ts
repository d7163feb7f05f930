// How does an OpenAI-shaped stream get through untouched, and what does the gateway learn of it on
// the way? Only whole events go on, as their original bytes; what would break clients is dropped.
//
// Events are looked at, not parsed, once the first content has been seen: searching for three
// markers costs a fifth of a parse. An event that holds a marker is parsed, so the markers may
// also stand inside generated text.

import { asRecord, type JsonRecord, tryParseJson } from '../json/record.ts';
import { JsonStructureError, scanMembers } from '../json/scan-members.ts';
import type { AnswerFacts, AnswerStream } from './dialect.ts';
import { readErrorEvent, readErrorMember } from './openai-error.ts';
import { readOpenAiUsage } from './openai-usage.ts';

/** What differs between chat completions and completions. */
export interface RelayOptions {
  /** Answers the stream must end, each with a finish reason of its own. */
  readonly choices: number;
  /** The caller asked for usage; otherwise the usage chunk and `"usage":null` are taken out. */
  readonly wantsUsage: boolean;
  /** Whether one entry of `choices` carries content that a client would show. */
  hasContent(choice: JsonRecord): boolean;
}

/** What is wrong with a stream that holds its end mark only. */
export const emptyStream = 'the stream ended without content and without a finish reason';

/** An event above this size fails the stream. */
export const eventBytesMax = 1024 * 1024;

export function relayOpenAiStream(options: RelayOptions): AnswerStream {
  return new OpenAiRelay(options);
}

export function freshFacts(): AnswerFacts {
  return {
    hasContent: false,
    isComplete: false,
    fault: undefined,
    usage: undefined,
    outputEstimate: 0,
    servedModel: undefined,
  };
}

const usageNull = ',"usage":null';

class OpenAiRelay implements AnswerStream {
  readonly facts: AnswerFacts = freshFacts();
  private readonly options: RelayOptions;
  /** The start of an event whose end has not arrived. */
  private tail: Buffer | undefined;
  private endedWithReturn = false;
  private isAtStart = true;
  private readonly finished = new Set<number>();

  constructor(options: RelayOptions) {
    this.options = options;
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
    let start = this.plainRun(text, output);
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
    if (this.isOver()) return last;
    if (this.finished.size >= this.options.choices) this.facts.isComplete = true;
    else this.facts.fault = { kind: 'truncated' };
    return last;
  }

  /** Some providers leave out the last blank line; a half event is nothing. */
  private lastEvent(): Buffer | undefined {
    const tail = this.tail?.toString('latin1').trimEnd();
    this.tail = undefined;
    if (!tail) return undefined;
    const data = readLines(tail).data.join('\n');
    if (data.trim() !== doneMark && asRecord(parseLatin1(data)) === undefined) return undefined;
    const bytes = Buffer.from(`${tail}\n\n`, 'latin1');
    const output = new Output(bytes);
    this.event(tail, 0, bytes.length, output);
    return output.take();
  }

  private isOver(): boolean {
    return this.facts.isComplete || this.facts.fault !== undefined;
  }

  /**
   * The bulk of a stream, in one go: events behind the first content that hold no marker. Gives
   * where the first other event begins.
   */
  private plainRun(text: string, output: Output): number {
    if (!this.facts.hasContent) return 0;
    const marker = firstMarker(text);
    let events = 0;
    let to = 0;
    for (;;) {
      const end = text.indexOf('\n', to);
      const isPlain =
        end !== -1 &&
        end < marker &&
        text.charCodeAt(end + 1) === 0x0a &&
        text.charCodeAt(end - 1) === 0x7d &&
        text.startsWith('data: {', to) &&
        end - to <= eventBytesMax;
      if (!isPlain) break;
      events++;
      to = end + 2;
    }
    if (events === 0) return 0;
    const run = text.slice(0, to);
    if (this.options.wantsUsage || !run.includes('"usage"')) output.keep(0, to);
    else {
      const stripped = run.replaceAll(usageNull, '');
      // Written in another way: event by event.
      if (stripped.includes('"usage"')) return 0;
      output.addRaw(stripped);
    }
    this.facts.outputEstimate += events;
    return to;
  }

  /** One event without its blank line; `from` and `to` are its place in the bytes, blank line included. */
  private event(event: string, from: number, to: number, output: Output): void {
    if (event.length > eventBytesMax) {
      this.failTooLong();
      return;
    }
    if (!event.startsWith('data:') || event.includes('\n')) {
      this.oddEvent(event, output);
      return;
    }
    const data = event.charCodeAt(5) === 0x20 ? event.slice(6) : event.slice(5);
    const verdict = this.look(data);
    if (verdict === 'keep') output.keep(from, to);
    else if (verdict === 'strip') output.add(`data: ${stripUsage(data)}`);
  }

  /**
   * Comments, event names, several lines: rare, rebuilt from what clients may see. `id:` and
   * `retry:` make SDKs throw. In JSON a line end between lines is only space.
   */
  private oddEvent(event: string, output: Output): void {
    const { name, data } = readLines(event);
    if (data.length === 0) return;
    const line = data.join(' ');
    if (name === 'error') {
      this.facts.fault = { kind: 'error-event', error: readErrorEvent(toUtf8(line)) };
      return;
    }
    const verdict = this.look(line);
    if (verdict !== 'drop') output.add(`data: ${verdict === 'strip' ? stripUsage(line) : line}`);
  }

  private look(data: string): 'keep' | 'strip' | 'drop' {
    const trimmed = data.trim();
    if (trimmed === doneMark) {
      if (this.facts.hasContent || this.finished.size > 0) this.facts.isComplete = true;
      else this.fail(emptyStream);
      return 'drop';
    }
    if (trimmed === '') return 'drop';
    const mustParse = !this.facts.hasContent || Number.isFinite(firstMarker(data));
    if (!mustParse) {
      if (trimmed.charCodeAt(0) === 0x7b && trimmed.charCodeAt(trimmed.length - 1) === 0x7d) {
        this.facts.outputEstimate++;
        return this.stripOrKeep(data);
      }
      this.fail('an event is not a JSON object');
      return 'drop';
    }
    const value = parseLatin1(data);
    const error = readErrorMember(value);
    if (error) {
      this.facts.fault = { kind: 'error-event', error };
      return 'drop';
    }
    const chunk = asRecord(value);
    if (!chunk) {
      this.fail('an event is not a JSON object');
      return 'drop';
    }
    return this.chunk(chunk, data);
  }

  private chunk(chunk: JsonRecord, data: string): 'keep' | 'strip' | 'drop' {
    if (typeof chunk.model === 'string') this.facts.servedModel ??= chunk.model;
    const choices = Array.isArray(chunk.choices) ? chunk.choices : [];
    let hasContent = false;
    for (const entry of choices) {
      const choice = asRecord(entry);
      if (!choice) continue;
      if (this.options.hasContent(choice)) hasContent = true;
      if (typeof choice.finish_reason === 'string' && choice.finish_reason !== '') {
        this.finished.add(typeof choice.index === 'number' ? choice.index : 0);
      }
    }
    if (hasContent) {
      this.facts.hasContent = true;
      this.facts.outputEstimate++;
    }
    const usage = readOpenAiUsage(chunk.usage);
    if (usage) {
      this.facts.usage = usage;
      // Nothing comes behind the usage chunk: a provider that forgets `[DONE]` and stays open keeps nobody waiting.
      if (choices.length === 0 && this.finished.size >= this.options.choices) this.facts.isComplete = true;
      // Some providers put usage on the last content chunk; that one must go on.
      if (!this.options.wantsUsage) return choices.length === 0 ? 'drop' : 'strip';
    }
    return this.stripOrKeep(data);
  }

  private stripOrKeep(data: string): 'keep' | 'strip' {
    return !this.options.wantsUsage && data.includes('"usage"') ? 'strip' : 'keep';
  }

  private fail(detail: string): void {
    this.facts.fault = { kind: 'malformed', detail };
  }

  private failTooLong(): void {
    this.fail(`an event is longer than ${eventBytesMax} bytes`);
  }

  /** CRLF and lone CR to LF, also where a CRLF is cut between two chunks. */
  private normaliseLineEnds(text: string): string {
    const joined = this.endedWithReturn && text.startsWith('\n') ? text.slice(1) : text;
    this.endedWithReturn = text.endsWith('\r');
    return joined.replace(/\r\n?/g, '\n');
  }
}

const doneMark = '[DONE]';

/** May stand before the first event, and is none of it; latin1 of its UTF-8 bytes. */
const byteOrderMark = '\u00ef\u00bb\u00bf';

/** The fields of an event that mean something here; `text` has LF line ends only. */
function readLines(text: string): { readonly name: string | undefined; readonly data: readonly string[] } {
  const data: string[] = [];
  let name: string | undefined;
  for (const line of text.split('\n')) {
    if (line.startsWith('data:')) data.push(line.slice(line.charCodeAt(5) === 0x20 ? 6 : 5));
    else if (line.startsWith('event:')) name = line.slice(6).trim();
  }
  return { name, data };
}

function parseLatin1(text: string): unknown {
  return tryParseJson(toUtf8(text));
}

/** Events are handled as latin1 of UTF-8 bytes: one character per byte. */
function toUtf8(latin1: string): string {
  return Buffer.from(latin1, 'latin1').toString('utf8');
}

/** Where something stands that an event must be parsed for; infinity where nothing does. */
function firstMarker(text: string): number {
  const error = text.indexOf('"error"');
  return Math.min(
    error === -1 ? Number.POSITIVE_INFINITY : error,
    findValue(text, '"finish_reason"'),
    findValue(text, '"usage"'),
  );
}

/** Where a member of that name has a value other than null; infinity where none has. */
function findValue(data: string, name: string): number {
  for (let at = data.indexOf(name); at !== -1; at = data.indexOf(name, at + 1)) {
    let next = at + name.length;
    while (isSpace(data.charCodeAt(next))) next++;
    if (data.charCodeAt(next) !== 0x3a) continue;
    next++;
    while (isSpace(data.charCodeAt(next))) next++;
    if (data.charCodeAt(next) !== 0x6e) return at;
  }
  return Number.POSITIVE_INFINITY;
}

function isSpace(code: number): boolean {
  return code === 0x20 || (code >= 0x09 && code <= 0x0d);
}

/**
 * Takes the usage member out of an event: `null`, or an object on a chunk that carries content too.
 * Every other byte stays. Inside generated text quotes are escaped, so what most providers write
 * can be replaced without looking further.
 */
function stripUsage(data: string): string {
  const rest = data.replaceAll(usageNull, '');
  if (!rest.includes('"usage"')) return rest;
  try {
    const { members } = scanMembers(rest);
    const at = members.findIndex(({ name }) => name === 'usage');
    const [before, usage, after] = [members[at - 1], members[at], members[at + 1]];
    if (!usage) return rest;
    if (before) return rest.slice(0, before.valueEnd) + rest.slice(usage.valueEnd);
    return rest.slice(0, usage.start) + rest.slice(after ? after.start : usage.valueEnd);
  } catch (error) {
    // Too odd to take apart; a usage member more hurts less than a lost event.
    if (error instanceof JsonStructureError) return rest;
    throw error;
  }
}

/** Gathers what goes on: ranges of the bytes that came, or rewritten events. */
class Output {
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
    this.closeRange();
    this.parts.push(Buffer.from(`${event}\n\n`, 'latin1'));
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
