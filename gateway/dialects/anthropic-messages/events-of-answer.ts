// Which events does a plain message stand for?

import { asRecord, isRecord, type JsonRecord } from '../../json/record.ts';
import { textOf } from '../anthropic/read-events.ts';

export function encodeMessagesEvents(message: JsonRecord): string {
  const { content, stop_reason: reason, stop_sequence: sequence, usage } = message;
  const blocks: readonly unknown[] = Array.isArray(content) ? content : [];
  const begun = { ...message, content: [], stop_reason: null, stop_sequence: null };
  const ending = { stop_reason: reason ?? null, stop_sequence: sequence ?? null };
  return [
    { type: 'message_start', message: begun },
    ...blocks.filter(isRecord).flatMap((block, index) => {
      const { start, deltas } = unfold(block);
      return [
        { type: 'content_block_start', index, content_block: start },
        ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
        { type: 'content_block_stop', index },
      ];
    }),
    { type: 'message_delta', delta: ending, usage: asRecord(usage) ?? {} },
    { type: 'message_stop' },
  ]
    .map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
    .join('');
}

interface Unfolded {
  readonly start: JsonRecord;
  readonly deltas: readonly JsonRecord[];
}

/** Members that the dialect does not stream as deltas go into the start event of the block. */
function unfold(block: JsonRecord): Unfolded {
  switch (block.type) {
    case 'text': {
      const { citations, ...start } = block;
      const cited: readonly unknown[] = Array.isArray(citations) ? citations : [];
      return {
        start: { ...start, text: '' },
        deltas: [
          { type: 'text_delta', text: textOf(block.text) },
          ...cited.map((citation) => ({ type: 'citations_delta', citation })),
        ],
      };
    }
    case 'thinking':
      return {
        start: { ...block, thinking: '', signature: '' },
        deltas: [
          { type: 'thinking_delta', thinking: textOf(block.thinking) },
          { type: 'signature_delta', signature: textOf(block.signature) },
        ],
      };
    case 'tool_use':
    case 'server_tool_use':
      return {
        start: { ...block, input: {} },
        deltas: [{ type: 'input_json_delta', partial_json: JSON.stringify(block.input ?? {}) }],
      };
    default:
      return { start: block, deltas: [] };
  }
}
