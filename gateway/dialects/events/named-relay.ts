// How does a stream of named events get through untouched? What is done with an event is decided by
// its name; the mass of a stream, its deltas, is never parsed.
//
// Clients of these dialects go by the `event:` line: where an upstream leaves it out, it is added
// from the `type` that the data repeats.

import { asRecord, type JsonRecord } from '../../json/record.ts';
import { leaveOut, loseEvent } from '../answer/malformed.ts';
import { readErrorMember } from '../answer/read-error.ts';
import type { AnswerFacts, AnswerStream, UpstreamError } from '../dialect.ts';
import { type EventMarks, markStates } from '../state/mark-state.ts';
import { type EventJudge, relayEvents } from './event-relay.ts';
import { doneMark, holdsNothing, looksLikeObject, parseLatin1, readLines, toUtf8 } from './event-text.ts';
import type { Output } from './output.ts';

/** What one dialect makes of its events. */
export interface NamedEvents {
  readonly facts: AnswerFacts;
  readonly eventBytesMax: number;
  /**
   * The names that events of this dialect have, newer ones of its families too. No event of another name goes on: what no client
   * of the dialect waits for can only be meant to be taken for something else.
   */
  readonly family: RegExp;
  /**
   * `delta`: one piece of the output, only looked at. `read`: parsed and given to `read`. `step`: goes on unread, and shows the
   * upstream at its answer. `pass`: is forwarded unread, like every unknown name of the family.
   */
  kindOf(name: string): 'delta' | 'read' | 'step' | 'pass';
  /** Whether events of this name are pieces of the output, of which a stream can do without one. */
  isPiece(name: string): boolean;
  /**
   * Notes in `facts` what an event says; stops after a fault.
   *
   * @param data What the value was parsed from, as latin1 of UTF-8 bytes.
   */
  read(name: string, value: JsonRecord, data: string): void;
  /** Called for an event that is forwarded without parsing; `data` as for `read`. */
  readonly note?: (name: string, data: string) => void;
  /** Data to forward in place of the event that was read last; undefined: forward it unchanged. */
  readonly rewritten?: () => string | undefined;
  /** From the data of an error event. */
  readError(data: string): UpstreamError;
  /**
   * The stream ended. Sets `facts.isComplete`, or `facts.fault` to `truncated`; may give the data of
   * a last event that the upstream left out.
   */
  close(): { readonly type: string } | undefined;
}

interface NamedStream extends AnswerStream {
  /** How many events have gone on. */
  readonly sent: number;
  /** The data of the last of them. */
  lastSent(): JsonRecord | undefined;
}

/** @param marks Opaque state gets its mark on the way; absent: every event goes as it came. */
export function relayNamedEvents(events: NamedEvents, marks?: EventMarks): NamedStream {
  const judge = new NamedJudge(events, marks);
  const stream = relayEvents(judge);
  return {
    facts: events.facts,
    push: (chunk) => stream.push(chunk),
    end: () => stream.end(),
    get sent() {
      return judge.sent;
    },
    lastSent: () => asRecord(parseLatin1(judge.last)),
  };
}

class NamedJudge implements EventJudge {
  readonly facts: AnswerFacts;
  readonly eventBytesMax: number;
  sent = 0;
  /** Data of the last event that went on. */
  last = '';
  private readonly events: NamedEvents;
  private readonly marks: EventMarks | undefined;
  /** What the last delta began with, up to the quote that its first name begins with. */
  private deltaHead: string | undefined;

  constructor(events: NamedEvents, marks: EventMarks | undefined) {
    this.events = events;
    this.marks = marks;
    this.facts = events.facts;
    this.eventBytesMax = events.eventBytesMax;
  }

  pass(): number {
    return 0;
  }

  /** Deltas of the name that came last. */
  run(text: string, _bytes: Buffer, start: number, output: Output): number {
    const head = this.deltaHead;
    if (head === undefined || this.facts.malformedFrames > 0 || !text.startsWith(head, start)) return start;
    // The run ends before a delta that may hold state: one search for all of them.
    const word = this.marks?.places.deltaWord;
    const wordAt = word === undefined ? -1 : text.indexOf(word, start);
    const runEnd = wordAt === -1 ? text.length : wordAt;
    let count = 0;
    let from = start;
    let to = start;
    while (text.startsWith(head, to)) {
      const end = text.indexOf('\n', to + head.length);
      const isPlain =
        end !== -1 &&
        text.charCodeAt(end + 1) === 0x0a &&
        text.charCodeAt(end - 1) === 0x7d &&
        end <= runEnd &&
        end - to <= this.eventBytesMax;
      if (!isPlain) break;
      count++;
      from = to;
      to = end + 2;
    }
    if (count === 0) return start;
    output.keep(start, to);
    this.facts.outputEstimate += count;
    this.sent += count;
    this.last = text.slice(from + head.length - 2, to - 2);
    return to;
  }

  event(event: string, from: number, to: number, output: Output): void {
    const plain = readPlain(event);
    const { name, data } = plain ?? readOdd(event);
    const trimmed = data.trim();
    if (trimmed === '' || (name !== 'error' && holdsNothing(trimmed))) return;
    if (trimmed === doneMark) {
      this.close(output);
      return;
    }
    const known = isUnnamed(name) ? this.nameFromData(trimmed) : name;
    if (known === undefined || !this.goesOn(known, trimmed)) return;
    this.sent++;
    this.last = trimmed;
    const isOwnForm = plain !== undefined && known === name;
    const marked = this.marked(known, this.events.rewritten?.() ?? data);
    if (marked !== data) {
      const head = isOwnForm ? event.slice(0, event.length - data.length) : `event: ${known}\ndata: `;
      output.add(head + marked);
    } else if (isOwnForm) {
      output.keep(from, to);
      if (trimmed.length === data.length && this.events.kindOf(known) === 'delta') {
        this.deltaHead = event.slice(0, event.length - data.length + 2);
      }
    } else output.add(`event: ${known}\ndata: ${data}`);
  }

  close(output: Output): void {
    const last = this.events.close();
    if (!last) return;
    this.sent++;
    output.add(`event: ${last.type}\ndata: ${JSON.stringify(last)}`);
  }

  private goesOn(name: string, data: string): boolean {
    if (name === 'error') {
      this.failWith(data);
      return false;
    }
    if (!this.events.family.test(name)) return false;
    const kind = this.events.kindOf(name);
    if (kind !== 'read' && looksLikeObject(data)) {
      if (kind === 'delta') this.facts.outputEstimate++;
      else if (kind === 'step') this.facts.steps++;
      if (kind === 'step') this.events.note?.(name, data);
      return true;
    }
    const value = kind === 'read' ? asRecord(parseLatin1(data)) : undefined;
    if (value) {
      this.events.read(name, value, data);
      return this.facts.fault === undefined;
    }
    loseEvent(this.facts, this.events.isPiece(name));
    return false;
  }

  /** The data to forward. */
  private marked(name: string, data: string): string {
    if (!this.marks?.places.mayHold(name, data)) return data;
    const value = asRecord(parseLatin1(data));
    return value ? markStates(data, this.marks.places.find(name, value), this.marks.origin) : data;
  }

  /** Data without any type is nothing to these clients, unless it is an error in another dialect's form. */
  private nameFromData(data: string): string | undefined {
    const [, first] = typeFirst.exec(data) ?? [];
    if (first !== undefined) return first;
    const value = parseLatin1(data);
    const type = asRecord(value)?.type;
    if (typeof type === 'string' && plainName.test(type)) return type;
    if (readErrorMember(value)) this.failWith(data);
    else if (!asRecord(value)) leaveOut(this.facts);
    return undefined;
  }

  private failWith(data: string): void {
    this.facts.fault = { kind: 'error-event', error: this.events.readError(toUtf8(data)) };
  }
}

/** As nearly every provider writes it. */
const typeFirst = /^\{\s*"type"\s*:\s*"([\w.-]+)"/;

/** Anything else could break out of its line. */
const plainName = /^[\w.-]+$/;

interface NamedData {
  readonly name: string | undefined;
  readonly data: string;
}

/** `message` is what unnamed events are called; some servers write it out. */
function isUnnamed(name: string | undefined): name is undefined | '' | 'message' {
  return name === undefined || name === '' || name === 'message';
}

/** An `event:` line and a `data:` line, in that order; what clients may be sent as it is. */
function readPlain(event: string): NamedData | undefined {
  if (!event.startsWith('event:')) return undefined;
  const nameEnd = event.indexOf('\n');
  if (nameEnd === -1 || !event.startsWith('data:', nameEnd + 1) || event.includes('\n', nameEnd + 1)) {
    return undefined;
  }
  const name = event.slice(event.charCodeAt(6) === 0x20 ? 7 : 6, nameEnd);
  if (name !== name.trim()) return undefined;
  return {
    name,
    data: event.slice(event.charCodeAt(nameEnd + 6) === 0x20 ? nameEnd + 7 : nameEnd + 6),
  };
}

/**
 * Comments, several lines, no name: rebuilt from what clients may see. `id:` and `retry:` make SDKs
 * throw. In JSON a line end between lines is only space.
 */
function readOdd(event: string): NamedData {
  const { name, data } = readLines(event);
  return { name, data: data.join(' ') };
}
