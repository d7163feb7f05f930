// What does the JSON of an event say, if it differs from an earlier one in one text only? Nearly
// all events of a streamed answer do, and comparing the rest costs a third of parsing it.

import { parseJson } from '../../../core/parse-json.ts';
import { asRecord, type JsonRecord } from '../../json/record.ts';

/** What such events have in common. */
interface Template {
  readonly before: string;
  readonly after: string;
  readonly value: JsonRecord;
  readonly place: Place;
}

/** Location of the text within a value. */
interface Place {
  readonly holder: Record<string, unknown>;
  readonly name: string;
}

/** Reads the events of one stream. */
export class TextEvents {
  private template: Template | undefined;
  /** The last event that was parsed as a whole. */
  private last = '';
  private triesLeft = triesMax;

  /** As `parseJson`, but what it gives holds until the next call only. */
  parse(data: string): unknown {
    return this.filled(data) ?? this.whole(data);
  }

  private filled(data: string): JsonRecord | undefined {
    if (!this.template) return undefined;
    const { before, after, value, place } = this.template;
    const end = data.length - after.length;
    if (end < before.length || data.slice(0, before.length) !== before || data.slice(end) !== after) {
      return undefined;
    }
    const text = parseJson(data.slice(before.length, end));
    if (typeof text !== 'string') return undefined;
    place.holder[place.name] = text;
    this.triesLeft = triesMax;
    return value;
  }

  private whole(data: string): unknown {
    const value = parseJson(data);
    if (this.triesLeft > 0 && data.length <= lengthMax && asRecord(value)) {
      this.triesLeft--;
      // A copy: the smallest piece of a string keeps all of its network chunk in memory.
      const event = Buffer.from(data).toString('utf8');
      this.template = findTemplate(this.last, event, value) ?? this.template;
      this.last = event;
    }
    return value;
  }
}

/** Streams whose events differ in several places, such as a counter, pay for this many only. */
const triesMax = 6;

/** Of events that are kept to compare others with. */
const lengthMax = 4096;

/** Placeholder for the text while the event is searched for it. */
const probe = 'the text of this event';

/**
 * From two events that differ in one text only.
 *
 * @param parsed The value of the other one.
 */
function findTemplate(one: string, other: string, parsed: unknown): Template | undefined {
  const start = other.lastIndexOf('"', firstDifference(one, other) - 1);
  const end = stringEnd(other, start);
  // A failing parse is expensive, so a cheap check of the text's place comes first.
  if (end === -1 || !/: ?$/.test(other.slice(Math.max(0, start - 2), start))) return undefined;
  const before = other.slice(0, start);
  const after = other.slice(end);
  if (!one.endsWith(after)) return undefined;
  const value = asRecord(parseJson(`${before}"${probe}"${after}`));
  // The bytes that differ must be the text itself. A duplicate member would hide the probe, so no place is found then.
  const [place] = placesOf(probe, parsed).length === 0 ? placesOf(probe, value) : [];
  return value && place ? { before, after, value, place } : undefined;
}

function firstDifference(one: string, other: string): number {
  let at = 0;
  while (at < other.length && one.charCodeAt(at) === other.charCodeAt(at)) at++;
  return at;
}

/** One past the closing quote; -1 without one. */
function stringEnd(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] === '\\') at++;
    else if (text[at] === '"') return at + 1;
  }
  return -1;
}

function placesOf(text: string, value: unknown): Place[] {
  const places: Place[] = [];
  const open = [value];
  while (open.length > 0) {
    const holder = open.pop();
    if (!canHold(holder)) continue;
    for (const [name, member] of Object.entries(holder)) {
      if (member === text) places.push({ holder, name });
      else open.push(member);
    }
  }
  return places;
}

function canHold(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
