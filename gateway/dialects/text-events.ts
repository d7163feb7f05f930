// What does the JSON of an event say, where it differs from an earlier one in one text only? Nearly
// all events of a streamed answer do, and comparing the rest costs a fifth of parsing it.

import { asRecord, type JsonRecord, tryParseJson } from '../json/record.ts';

/** What such events have in common. */
interface Template {
  readonly before: string;
  readonly after: string;
  readonly value: JsonRecord;
  readonly place: Place;
}

/** Where in a value the text stands. */
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

  /** As `tryParseJson`, but what it gives holds until the next call only. */
  parse(data: string): unknown {
    return this.filled(data) ?? this.whole(data);
  }

  private filled(data: string): JsonRecord | undefined {
    if (!this.template) return undefined;
    const { before, after, value, place } = this.template;
    const end = data.length - after.length;
    if (end < before.length || data.slice(0, before.length) !== before || !data.endsWith(after)) {
      return undefined;
    }
    const text = tryParseJson(data.slice(before.length, end));
    if (typeof text !== 'string') return undefined;
    place.holder[place.name] = text;
    this.triesLeft = triesMax;
    return value;
  }

  private whole(data: string): unknown {
    if (this.triesLeft > 0) {
      this.triesLeft--;
      this.template = findTemplate(this.last, data) ?? this.template;
      this.last = data;
    }
    return tryParseJson(data);
  }
}

/** Streams whose events differ in several places, such as a counter, pay for this many only. */
const triesMax = 6;

/** Stands for the text while its place is looked for. */
const probe = 'the text of this event';

/** From two events that first differ inside a text, whatever follows there. */
function findTemplate(one: string, other: string): Template | undefined {
  const start = other.lastIndexOf('"', firstDifference(one, other) - 1);
  const end = stringEnd(other, start);
  if (start === -1 || end === -1) return undefined;
  // Copied: the smallest piece of a string keeps all of its network chunk in memory.
  const before = copyOf(other.slice(0, start));
  const after = copyOf(other.slice(end));
  // Only where the text of exactly one member changes with it are these bytes that text.
  const value = asRecord(tryParseJson(`${before}"${probe}"${after}`));
  const [place, ...others] = placesOf(probe, value);
  return value && place && others.length === 0 ? { before, after, value, place } : undefined;
}

function firstDifference(one: string, other: string): number {
  let at = 0;
  while (at < other.length && one.charCodeAt(at) === other.charCodeAt(at)) at++;
  return at;
}

/** One past the closing quote; -1 where there is none. */
function stringEnd(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] === '\\') at++;
    else if (text[at] === '"') return at + 1;
  }
  return -1;
}

function copyOf(text: string): string {
  return Buffer.from(text).toString('utf8');
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
