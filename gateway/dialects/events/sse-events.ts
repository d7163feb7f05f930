// Upstream bytes to server-sent events, for streams that are translated. Any split of the bytes
// gives the same events, also inside a character.

import { createParser } from 'eventsource-parser';
import { holdsNothing, isBareError } from './event-text.ts';

/** An event above this size fails the stream. */
export const eventBytesMax = 1024 * 1024;

/** Of a response: some of its events repeat all instructions and tools of the request, and the last one all of the output. */
export const responseEventBytesMax = 4 * eventBytesMax;

export interface SseEvent {
  /** The `event:` name; undefined if the stream gave none. */
  readonly name: string | undefined;
  readonly data: string;
}

interface SseReader {
  /** An event was longer than allowed: it and all that follows is lost. */
  readonly isOverfull: boolean;
  push(chunk: Buffer): readonly SseEvent[];
  /** Also gives an event whose last blank line the upstream left out. */
  end(): readonly SseEvent[];
}

/** @param dataLengthMax Characters that the data of one event may have. */
export function readSse(dataLengthMax: number): SseReader {
  const decoder = new TextDecoder('utf-8');
  let events: SseEvent[] = [];
  let isOverfull = false;
  /** All that came so far was whole events. */
  let isBetween = false;
  const bare = new BareLines();
  const parser = createParser({
    // Some room for the name of the field: whether an event is too long must not depend on how it is cut.
    maxBufferSize: dataLengthMax + 16,
    onEvent: ({ event, data }) => {
      if (data.length > dataLengthMax) isOverfull = true;
      if (!isOverfull && !isNothing(event, data.trim())) events.push({ name: event, data });
    },
    onError: ({ type, field, value = '', line = '' }) => {
      if (type === 'max-buffer-size-exceeded') isOverfull = true;
      if (type !== 'unknown-field') return;
      const error = field === 'error' ? value : bare.add(line);
      if (error !== undefined) events.push({ name: 'error', data: error });
    },
  });
  const feed = (text: string): readonly SseEvent[] => {
    // The parser throws on input after an overflow.
    if (!isOverfull) parser.feed(text);
    const taken = events;
    events = [];
    return taken;
  };
  return {
    get isOverfull() {
      return isOverfull;
    },
    push(chunk) {
      const plain = isBetween && !isOverfull ? readPlain(chunk, dataLengthMax) : undefined;
      if (plain) return plain;
      if (chunk.length > 0) isBetween = endsWhole(chunk);
      return feed(decoder.decode(chunk, { stream: true }));
    },
    end: () => feed(`${decoder.decode()}\n\n`),
  };
}

/** Lines without a field: of interest only if they make up an error, see `isBareError`. */
class BareLines {
  private text = '';

  /** The error that ends with this line. */
  add(line: string): string | undefined {
    this.text = line.startsWith('{') ? line : `${this.text}\n${line}`;
    if (!this.text.startsWith('{') || this.text.length > bareLengthMax) this.text = '';
    return isBareError(this.text) ? this.text : undefined;
  }
}

/** No error is longer. */
const bareLengthMax = 16 * 1024;

/** An event named error is an error, whatever its data. */
function isNothing(name: string | undefined, trimmed: string): boolean {
  return trimmed === '' || (name !== 'error' && holdsNothing(trimmed));
}

/** The usual case, at half the cost: a chunk of whole events of one line each. */
function readPlain(chunk: Buffer, dataLengthMax: number): SseEvent[] | undefined {
  if (chunk[0] !== 0x64 || !endsWhole(chunk)) return undefined;
  const text = chunk.toString('utf8');
  if (text.includes('\r')) return undefined;
  const events: SseEvent[] = [];
  for (let at = 0; at < text.length; ) {
    const end = text.indexOf('\n', at);
    const isPlain =
      (text.startsWith('data: {', at) || text.startsWith('data: [', at)) &&
      text.charCodeAt(end + 1) === 0x0a &&
      end - at - 6 <= dataLengthMax;
    if (!isPlain) return undefined;
    events.push({ name: undefined, data: text.slice(at + 6, end) });
    at = end + 2;
  }
  return events;
}

/** Nothing after it is kept. */
export function endsWhole(chunk: Buffer): boolean {
  return chunk[chunk.length - 1] === 0x0a && chunk[chunk.length - 2] === 0x0a;
}
