// Upstream bytes to server-sent events, for streams that are translated. Any split of the bytes
// gives the same events, also inside a character.

import { createParser } from 'eventsource-parser';

export interface SseEvent {
  /** The `event:` name; undefined where the stream gave none. */
  readonly name: string | undefined;
  readonly data: string;
}

export interface SseReader {
  push(chunk: Buffer): readonly SseEvent[];
  /** Also gives an event whose last blank line the upstream left out. */
  end(): readonly SseEvent[];
}

export function readSse(): SseReader {
  const decoder = new TextDecoder('utf-8');
  let events: SseEvent[] = [];
  const parser = createParser({
    onEvent: ({ event, data }) => {
      if (data.trim() !== '') events.push({ name: event, data });
    },
  });
  const take = (): readonly SseEvent[] => {
    const taken = events;
    events = [];
    return taken;
  };
  return {
    push(chunk) {
      parser.feed(decoder.decode(chunk, { stream: true }));
      return take();
    },
    end() {
      parser.feed(`${decoder.decode()}\n\n`);
      return take();
    },
  };
}
