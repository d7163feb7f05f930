// What do messages upstreams stream? Events, blocks, and the text of a whole answer.

import { named } from './named-events.ts';

const begun = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'served',
  content: [],
  stop_reason: null,
  stop_sequence: null,
};

/** The first event of an answer. */
export const start = named('message_start', {
  message: {
    ...begun,
    usage: { input_tokens: 10, cache_read_input_tokens: 5, cache_creation_input_tokens: 2, output_tokens: 1 },
  },
});

/** The same with other counts. */
export const messageStart = named('message_start', {
  message: {
    ...begun,
    usage: {
      input_tokens: 25,
      cache_read_input_tokens: 100,
      cache_creation_input_tokens: 5,
      output_tokens: 1,
    },
  },
});

export const ping = named('ping');

export const blockStart = (block: object, index = 0): string =>
  named('content_block_start', { index, content_block: block });

export const blockDelta = (delta: object, index = 0): string =>
  named('content_block_delta', { index, delta });

export const blockStop = (index = 0): string => named('content_block_stop', { index });

export const textDelta = (text: string, index = 0): string => blockDelta({ type: 'text_delta', text }, index);

export const textStart = blockStart({ type: 'text', text: '' });

export const messageDelta = (stop: string | null, usage: object = { output_tokens: 15 }): string =>
  named('message_delta', { delta: { stop_reason: stop, stop_sequence: null }, usage });

export const messageStop = named('message_stop');

export const wholeMessage = [
  messageStart,
  blockStart({ type: 'thinking', thinking: '', signature: '' }),
  ping,
  blockDelta({ type: 'thinking_delta', thinking: 'Grüße' }),
  blockDelta({ type: 'signature_delta', signature: 'EqoB+/=' }),
  blockStop(),
  blockStart({ type: 'text', text: '' }, 1),
  textDelta('漢字 ', 1),
  textDelta('😀', 1),
  textDelta('!', 1),
  blockStop(1),
  blockStart({ type: 'tool_use', id: 'toolu_1', name: 'f', input: {} }, 2),
  blockDelta({ type: 'input_json_delta', partial_json: '' }, 2),
  blockDelta({ type: 'input_json_delta', partial_json: '{"a":"é"}' }, 2),
  blockStop(2),
  messageDelta('tool_use'),
  messageStop,
].join('');

export function blockOf(index: number, block: object, ...deltas: readonly object[]): string {
  return (
    named('content_block_start', { index, content_block: block }) +
    deltas.map((delta) => named('content_block_delta', { index, delta })).join('') +
    named('content_block_stop', { index })
  );
}

export const textBlock = (index: number, ...texts: readonly string[]): string =>
  blockOf(index, { type: 'text', text: '' }, ...texts.map((text) => ({ type: 'text_delta', text })));

export function endOf(reason: string, usage: object = { output_tokens: 7 }, more: object = {}): string {
  return (
    named('message_delta', { delta: { stop_reason: reason, stop_sequence: null, ...more }, usage }) +
    named('message_stop')
  );
}
