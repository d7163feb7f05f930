// Upstream bytes to server-sent events, for streams that are translated. Any split of the bytes
// gives the same events, also inside a character.

import { createParser } from 'eventsource-parser';

/** An event above this size fails the stream. */
export const eventBytesMax = 1024 * 1024;

export interface SseEvent {
  /** The `event:` name; undefined where the stream gave none. */
  readonly name: string | undefined;
  readonly data: string;
}

export interface SseReader {
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
  const parser = createParser({
    // Some room for the name of the field: whether an event is too long must not depend on how it is cut.
    maxBufferSize: dataLengthMax + 16,
    onEvent: ({ event, data }) => {
      if (data.length > dataLengthMax) isOverfull = true;
      if (!isOverfull && data.trim() !== '') events.push({ name: event, data });
    },
    onError: ({ type }) => {
      if (type === 'max-buffer-size-exceeded') isOverfull = true;
    },
  });
  const feed = (text: string): readonly SseEvent[] => {
    // The parser throws when it is fed behind an overflow.
    if (!isOverfull) parser.feed(text);
    const taken = events;
    events = [];
    return taken;
  };
  return {
    get isOverfull() {
      return isOverfull;
    },
    push: (chunk) => feed(decoder.decode(chunk, { stream: true })),
    end: () => feed(`${decoder.decode()}\n\n`),
  };
}
