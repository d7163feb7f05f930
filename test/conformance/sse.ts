// Which events are in the text of an event stream?

import { createParser } from 'eventsource-parser';

export interface SseEvent {
  readonly event: string | undefined;
  readonly data: string;
}

export function parseEvents(text: string): readonly SseEvent[] {
  const events: SseEvent[] = [];
  const parser = createParser({ onEvent: ({ event, data }) => void events.push({ event, data }) });
  parser.feed(text);
  return events;
}
