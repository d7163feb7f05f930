// How does an OpenAI-shaped stream get through untouched, and what does the gateway learn of it on
// the way? Only whole events go on, as their original bytes; what would break clients is dropped.
//
// Events are looked at, not parsed, once the first content has been seen: searching for three
// markers costs a fifth of a parse. An event that holds a marker is parsed, so the markers may
// also stand inside generated text.

import { asRecord, type JsonRecord } from '../../json/record.ts';
import { freshFacts } from '../answer/answer-facts.ts';
import { checkCallsAreWhole, failMalformed, leaveOut } from '../answer/malformed.ts';
import { readErrorEvent, readErrorMember } from '../answer/read-error.ts';
import type { AnswerFacts, AnswerStream } from '../dialect.ts';
import { type EventJudge, relayEvents } from '../events/event-relay.ts';
import { doneMark, looksLikeObject, parseLatin1, readLines, toUtf8 } from '../events/event-text.ts';
import type { Output } from '../events/output.ts';
import { eventBytesMax } from '../events/sse-events.ts';
import { ChoiceEnds } from './choice-ends.ts';
import { laterUsage, readOpenAiUsage, usageIn } from './convert-usage.ts';
import { isFinishReason } from './map-finish-reason.ts';
import { stripNullUsage, stripUsage } from './strip-usage.ts';

/** What differs between chat completions and completions. */
interface RelayOptions {
  /** Answers the stream must end, each with a finish reason of its own. */
  readonly choices: number;
  /** The caller asked for usage; otherwise the usage chunk and `"usage":null` are taken out. */
  readonly wantsUsage: boolean;
  /** Whether one entry of `choices` carries content that a client would show. */
  hasContent(choice: JsonRecord): boolean;
  /** Whether one entry of `choices` is a piece of a tool call. */
  hasCalls(choice: JsonRecord): boolean;
}

/** What is wrong with a stream that holds its end mark only. */
export const emptyStream = 'the stream ended without content and without a finish reason';

export function relayOpenAiStream(options: RelayOptions): AnswerStream {
  return relayEvents(new OpenAiEvents(options));
}

class OpenAiEvents implements EventJudge {
  readonly facts: AnswerFacts = freshFacts();
  readonly eventBytesMax = eventBytesMax;
  private readonly options: RelayOptions;
  private readonly ends: ChoiceEnds;

  constructor(options: RelayOptions) {
    this.options = options;
    this.ends = new ChoiceEnds(options.choices);
  }

  /** Events behind the first content and before any finish reason that hold no marker. */
  run(text: string, output: Output): number {
    if (this.mustParseAll()) return 0;
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
        text.startsWith('data: {"', to) &&
        end - to <= eventBytesMax;
      if (!isPlain) break;
      events++;
      to = end + 2;
    }
    if (events === 0) return 0;
    const run = text.slice(0, to);
    if (this.options.wantsUsage || !run.includes('"usage"')) output.keep(0, to);
    else {
      const stripped = stripNullUsage(run);
      // Written in another way: event by event.
      if (stripped.includes('"usage"')) return 0;
      output.addRaw(stripped);
    }
    this.facts.outputEstimate += events;
    return to;
  }

  event(event: string, from: number, to: number, output: Output): void {
    if (!event.startsWith('data:') || event.includes('\n')) {
      this.oddEvent(event, output);
      return;
    }
    const data = event.charCodeAt(5) === 0x20 ? event.slice(6) : event.slice(5);
    const verdict = this.look(data);
    if (verdict === 'keep') output.keep(from, to);
    else if (verdict === 'strip') output.add(`data: ${stripUsage(data)}`);
  }

  close(): void {
    if (this.ends.areOver(this.facts.isTorn === true)) this.facts.isComplete = true;
    else this.facts.fault = { kind: 'truncated' };
  }

  /** Before the first content everything is looked at, and behind a finish reason whether content comes all the same. */
  private mustParseAll(): boolean {
    return !this.facts.hasContent || this.facts.malformedFrames > 0 || this.ends.hasReason;
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
      if (this.facts.hasContent || this.ends.hasReason) this.facts.isComplete = true;
      else failMalformed(this.facts, emptyStream);
      return 'drop';
    }
    if (trimmed === '') return 'drop';
    if (!this.mustParseAll() && !Number.isFinite(firstMarker(data))) {
      if (looksLikeObject(trimmed)) {
        this.facts.outputEstimate++;
        return this.stripOrKeep(data);
      }
      leaveOut(this.facts);
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
      leaveOut(this.facts);
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
      const isContent = this.options.hasContent(choice);
      if (isContent) hasContent = true;
      if (this.options.hasCalls(choice)) checkCallsAreWhole(this.facts);
      this.ends.see(typeof choice.index === 'number' ? choice.index : 0, {
        hasContent: isContent,
        hasReason: isFinishReason(choice.finish_reason),
        isEarly: !this.facts.hasContent,
      });
    }
    this.facts.awaitsEnd = this.ends.areSure;
    if (hasContent) {
      this.facts.hasContent = true;
      this.facts.outputEstimate++;
    }
    const told = usageIn(chunk);
    const usage = readOpenAiUsage(told);
    if (usage) {
      this.facts.usage = laterUsage(this.facts.usage, usage);
      // Nothing comes behind the usage chunk: a provider that forgets `[DONE]` and stays open keeps nobody waiting.
      if (choices.length === 0 && this.ends.haveReasons) this.facts.isComplete = true;
    }
    // Some providers put usage on the last content chunk; that one must go on.
    if (asRecord(told) && !this.options.wantsUsage) return choices.length === 0 ? 'drop' : 'strip';
    return this.stripOrKeep(data);
  }

  private stripOrKeep(data: string): 'keep' | 'strip' {
    return !this.options.wantsUsage && data.includes('"usage"') ? 'strip' : 'keep';
  }
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
