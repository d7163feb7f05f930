// What do responses upstreams stream? Events, and the text of a whole answer.

import { named } from './named-events.ts';

/** Events of an upstream as it sends them. */
export function eventText(
  ...events: readonly { readonly type: string; readonly [member: string]: unknown }[]
): string {
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');
}

/** Response events, numbered from 0. */
export function numbered(events: readonly (readonly [type: string, members?: object])[]): string {
  return events
    .map(([type, members], sequence) => named(type, { sequence_number: sequence, ...members }))
    .join('');
}

export const response = {
  id: 'resp_1',
  object: 'response',
  created_at: 1_700_000_000,
  status: 'in_progress',
  error: null,
  incomplete_details: null,
  model: 'served',
  output: [],
  usage: null,
  instructions: 'Grüße',
};

export const responseUsage = {
  input_tokens: 7,
  input_tokens_details: { cached_tokens: 2, cache_write_tokens: 1 },
  output_tokens: 3,
  output_tokens_details: { reasoning_tokens: 1 },
  total_tokens: 10,
};

const item = { id: 'msg_1', type: 'message', role: 'assistant' };
const place = { item_id: 'msg_1', output_index: 0, content_index: 0 };
const part = { type: 'output_text', text: 'Grüße, 漢字 😀', annotations: [] };

const responseBegin = [
  ['response.created', { response }],
  ['response.in_progress', { response }],
  ['response.output_item.added', { output_index: 0, item: { ...item, status: 'in_progress', content: [] } }],
  ['response.content_part.added', { ...place, part: { ...part, text: '' } }],
  ['response.output_text.delta', { ...place, delta: 'Grüße', logprobs: [] }],
  ['response.output_text.delta', { ...place, delta: ', 漢字 ', logprobs: [] }],
  ['response.output_text.delta', { ...place, delta: '😀', logprobs: [] }],
] as const;

export const responseBeginning = numbered(responseBegin);

export const wholeResponse = numbered([
  ...responseBegin,
  ['response.output_text.done', { ...place, text: part.text }],
  ['response.content_part.done', { ...place, part }],
  ['response.output_item.done', { output_index: 0, item: { ...item, status: 'completed', content: [part] } }],
  [
    'response.completed',
    {
      response: {
        ...response,
        status: 'completed',
        output: [{ ...item, content: [part] }],
        usage: responseUsage,
      },
    },
  ],
]);
