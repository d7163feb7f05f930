// How does a support test talk to the wall? Requests in the two dialects, and what a streamed answer said.

import type { SseEvent } from '../support/raw-client.ts';

export const chatPath = '/v1/chat/completions';

export function chatBody(more: object = {}): object {
  return { model: 'small', messages: [{ role: 'user', content: 'three plain words' }], ...more };
}

/** The `data` of every event, without comments. */
export function dataOf(events: readonly SseEvent[]): string[] {
  return events.filter((event) => event.type === 'event').map((event) => event.data ?? '');
}

/** The text that chat deltas add up to; frames that are not JSON count as nothing. */
export function textOf(events: readonly SseEvent[]): string {
  return dataOf(events)
    .map((data) => /"delta":\{"content":("(?:[^"\\]|\\.)*")/.exec(data)?.[1])
    .map((quoted) => (quoted === undefined ? '' : String(JSON.parse(quoted))))
    .join('');
}
