// How does an OpenAI-shaped stream get through untouched, and what does the gateway learn of it on
// the way? Only whole events go on, as their original bytes; what would break clients is dropped.
//
// After the first content, an event that differs from an earlier one only in its text is forwarded unread
// (`chunk-forms.ts`), and one that begins alike is searched for three markers, which costs a fifth of a parse. All
// others are parsed, so the markers may also stand inside generated text. What clients go by and a chunk lacks is put
// in (`repair.ts`).

import { asRecord, type JsonRecord } from '../../json/record.ts';
import { freshFacts } from '../answer/answer-facts.ts';
import { checkCallsAreWhole, failMalformed, leaveOut } from '../answer/malformed.ts';
import { readErrorEvent, readErrorMember } from '../answer/read-error.ts';
import type { AnswerFacts, AnswerStream } from '../dialect.ts';
import { type EventJudge, relayEvents } from '../events/event-relay.ts';
import { doneMark, holdsNothing, parseLatin1, readLines, toUtf8 } from '../events/event-text.ts';
import type { Output } from '../events/output.ts';
import { eventBytesMax } from '../events/sse-events.ts';
import { ChoiceEnds } from './choice-ends.ts';
import { ChunkForms } from './chunk-forms.ts';
import { laterUsage, readOpenAiUsage, usageIn } from './convert-usage.ts';
import { isFinishReason } from './map-finish-reason.ts';
import { mapChoices, type OpenAiRepair } from './repair.ts';
import { stripNullUsage, stripUsage } from './strip-usage.ts';

/** What differs between chat completions and completions. */
interface RelayOptions {
  /** Number of answers in the stream; each must end with a finish reason. */
  readonly choices: number;
  /** The caller asked for usage; otherwise the usage chunk and `"usage":null` are taken out. */
  readonly wantsUsage: boolean;
  /** Whether one entry of `choices` carries content that a client would show. */
  hasContent(choice: JsonRecord): boolean;
  /** Whether one entry of `choices` is a piece of a tool call. */
  hasCalls(choice: JsonRecord): boolean;
  /** Absent: chunks go on as they are, whatever they lack. */
  readonly repair?: OpenAiRepair | undefined;
}

/** The fault of a stream that holds only its end mark. */
export const emptyStream = 'the stream ended without content and without a finish reason';

export function relayOpenAiStream(options: RelayOptions): AnswerStream {
  return relayEvents(new OpenAiEvents(options));
}

class OpenAiEvents implements EventJudge {
  readonly facts: AnswerFacts = freshFacts();
  readonly eventBytesMax = eventBytesMax;
  private readonly options: RelayOptions;
  private readonly ends: ChoiceEnds;
  private readonly forms = new ChunkForms();
  private readonly seen = new Set<number>();
  /** Data of the chunk with the usage: clients expect it after the last finish reason. */
  private usageChunk: string | undefined;
  private lacksFinishReason = false;
  private isOddlyWritten = false;

  constructor(options: RelayOptions) {
    this.options = options;
    this.ends = new ChoiceEnds(options.choices);
  }

  pass(bytes: Buffer, output: Output): number {
    if (this.mustParseAll() || this.isOddlyWritten) return 0;
    let events = 0;
    let end = 0;
    while (end < bytes.length) {
      const next = this.forms.endOf(bytes, end);
      if (next - end > eventBytesMax) return 0;
      if (next === -1) break;
      end = next;
      events++;
    }
    if (events === 0) return 0;
    if (this.options.wantsUsage || !this.forms.hasUsage) output.keep(0, end);
    else {
      const given = events === 1 ? this.forms.withoutUsage(bytes.subarray(0, end)) : undefined;
      if (given === undefined) return 0;
      output.addBytes(given);
    }
    this.facts.outputEstimate += events;
    return end;
  }

  /** Events after the first content and before any finish reason; none of them needs parsing. */
  run(text: string, bytes: Buffer, from: number, output: Output): number {
    if (this.mustParseAll() || this.isOddlyWritten) return from;
    let events = 0;
    let to = from;
    let mayHaveUsage = this.forms.hasUsage;
    let marker: number | undefined;
    for (;;) {
      const end = this.forms.endOf(bytes, to);
      if (end !== -1) {
        if (end - to > eventBytesMax) break;
        to = end;
      } else {
        // One search of all the text for markers, however many of its events need a look.
        if (from > 0 || !this.forms.beginsAlike(text, to)) break;
        const lineEnd = text.indexOf('\n', to);
        marker ??= firstMarker(text);
        const isPlain =
          lineEnd !== -1 &&
          lineEnd < marker &&
          text.charCodeAt(lineEnd + 1) === 0x0a &&
          text.charCodeAt(lineEnd - 1) === 0x7d &&
          lineEnd - to <= eventBytesMax &&
          !callsTool(text.slice(to, lineEnd));
        if (!isPlain) break;
        mayHaveUsage = true;
        to = lineEnd + 2;
      }
      events++;
    }
    if (events === 0) return from;
    if (this.options.wantsUsage || !mayHaveUsage) output.keep(from, to);
    else {
      const stripped = stripNullUsage(text.slice(from, to));
      // Written in another way: event by event.
      this.isOddlyWritten = stripped.includes('"usage"');
      if (this.isOddlyWritten) return from;
      if (stripped.length === to - from) output.keep(from, to);
      else output.addRaw(stripped);
    }
    this.facts.outputEstimate += events;
    return to;
  }

  event(event: string, from: number, to: number, output: Output): void {
    if (!event.startsWith('data:') || event.includes('\n')) this.oddEvent(event, output);
    else {
      const data = event.charCodeAt(5) === 0x20 ? event.slice(6) : event.slice(5);
      const isMarked = marker.test(event);
      const isAlike = this.forms.beginsAlike(event, 0);
      const isUnread = isAlike && !isMarked && this.passesUnread(event);
      const given = isUnread ? this.stripped(data) : this.look(data, isMarked);
      if (given === data) output.keep(from, to);
      else this.give(given, output);
      // A null usage that is taken out is in all the others too, and is nothing to repair.
      const isOrdinary = !isAlike && !isMarked && !this.mustParseAll();
      if (isOrdinary && given === this.stripped(data)) this.forms.learn(event);
    }
    this.finish(output);
  }

  close(output: Output): void {
    if (this.ends.areOver(this.facts.isTorn === true)) this.facts.isComplete = true;
    else this.facts.fault = { kind: 'truncated' }; // guard: terminal-marker
    this.finish(output);
  }

  /** Why a client that is served whole answers only could not use this one, though it was made sound. */
  flaw(): string | undefined {
    return this.lacksFinishReason ? noFinishReason : undefined;
  }

  private give(data: string | undefined, output: Output): void {
    if (data !== undefined) output.add(`data: ${data}`);
  }

  /** What belongs at the end of a whole stream, whenever it came, and if at all. */
  private finish(output: Output): void {
    if (!this.facts.isComplete) return;
    for (const index of this.seen) {
      if (this.ends.hasReasonOf(index)) continue;
      this.lacksFinishReason = true;
      this.give(this.options.repair?.end(index), output);
    }
    this.give(this.usageChunk, output);
    this.usageChunk = undefined;
  }

  /** Events are parsed before the first content, and after a finish reason, which content may still follow. */
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
    this.give(this.look(line, marker.test(line)), output);
  }

  /** It says of itself what an earlier one does, and has no marker. */
  private passesUnread(event: string): boolean {
    if (this.mustParseAll() || !event.endsWith('}') || callsTool(event)) return false;
    this.facts.outputEstimate++;
    return true;
  }

  /** The data to forward; undefined: drop the event. */
  private look(data: string, isMarked: boolean): string | undefined {
    const trimmed = data.trim();
    if (trimmed === doneMark) {
      if (this.facts.hasContent || this.ends.hasReason) this.facts.isComplete = true;
      else failMalformed(this.facts, emptyStream);
      return undefined;
    }
    if (holdsNothing(trimmed)) return undefined;
    const value = parseLatin1(data);
    const error = readErrorMember(value);
    if (error) {
      this.facts.fault = { kind: 'error-event', error };
      return undefined;
    }
    const chunk = asRecord(value);
    if (!chunk) {
      leaveOut(this.facts);
      return undefined;
    }
    return this.chunk(chunk, data, isMarked);
  }

  private chunk(chunk: JsonRecord, data: string, isMarked: boolean): string | undefined {
    const { repair } = this.options;
    if (typeof chunk.model === 'string' && chunk.model !== '') this.facts.servedModel ??= chunk.model;
    const entries = Array.isArray(chunk.choices) ? chunk.choices : [];
    const choices = repair ? mapChoices(entries, (choice) => repair.choice(choice, 0)) : entries;
    // The pieces of a call that got another number look like those of the call that has the number.
    if (choices.some((choice, at) => choice !== entries[at])) this.forms.excludeCalls();
    const isOrdinary = choices.length > 0 && !this.mustParseAll() && !isMarked;
    let hasContent = false;
    for (const entry of choices) {
      const choice = asRecord(entry);
      if (!choice) continue;
      const isContent = this.options.hasContent(choice);
      if (isContent) hasContent = true;
      if (this.options.hasCalls(choice)) checkCallsAreWhole(this.facts);
      const index = typeof choice.index === 'number' ? choice.index : 0;
      if (this.seen.size < Math.max(this.options.choices, seenMax)) this.seen.add(index);
      this.ends.see(index, {
        hasContent: isContent,
        hasReason: isFinishReason(choice.finish_reason),
        isEarly: !this.facts.hasContent,
      });
    }
    this.facts.awaitsEnd = this.ends.areSure;
    // An event without content is counted too, as unread events are.
    if (hasContent || isOrdinary) {
      this.facts.hasContent = true;
      this.facts.outputEstimate++;
    }
    const reported = usageIn(chunk);
    const usage = readOpenAiUsage(reported);
    if (usage) this.facts.usage = laterUsage(this.facts.usage, usage);
    // Some providers put usage on the last content chunk; that one must go on.
    if (choices.length > 0) return this.sound(chunk, data, choices);
    // Without a choice a chunk says what was used, or nothing that its client has asked for.
    repair?.note(chunk);
    if (!usage) return undefined;
    if (this.options.wantsUsage) this.usageChunk = this.sound(chunk, data, choices);
    // The usage chunk is the last one: a client need not wait for a provider that forgets `[DONE]` and stays open.
    if (this.ends.haveReasons) this.facts.isComplete = true;
    return undefined;
  }

  private sound(chunk: JsonRecord, data: string, choices: readonly unknown[]): string {
    const { repair, wantsUsage } = this.options;
    const own = this.stripped(data);
    const given = wantsUsage || chunk.usage === undefined ? chunk : { ...chunk, usage: undefined };
    return repair?.repaired(() => own, given, choices) ?? own;
  }

  private stripped(data: string): string {
    return !this.options.wantsUsage && data.includes('"usage"') ? stripUsage(data) : data;
  }
}

/** As many as are asked for, and some more: an upstream may make up indexes. */
const seenMax = 128;

const noFinishReason = 'a choice of the answer has no finish reason';

/** Beside a text: what the text alone does not say must be read. */
function callsTool(event: string): boolean {
  return toolCall.test(event);
}

const toolCall = /"(?:tool_calls"\s*:\s*\[|function_call"\s*:\s*\{)/;

/** What an event must be parsed for: an error, or a finish reason or counts that are not null. */
const marker = /"(?:error"|(?:finish_reason|usage)"[\t-\r ]*:[\t-\r ]*[^n\t-\r ])/;

/** Infinity without a marker. */
function firstMarker(text: string): number {
  const at = text.search(marker);
  return at === -1 ? Number.POSITIVE_INFINITY : at;
}
