// What do upstreams of the dialects with named events stream? Texts of whole answers, and what is done to them on the way.

import type { RequestFacts } from '../../../gateway/dialects/dialect.ts';

export const streamFacts: RequestFacts = { model: 'm', isStream: true, wantsUsage: false, choices: 1 };

/** A frame as OpenAI and Anthropic write it: the name once more as the data's type. */
export function named(type: string, members: object = {}): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`;
}

export const messageStart = named('message_start', {
  message: {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'served',
    content: [],
    stop_reason: null,
    stop_sequence: null,
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

const decorate = (text: string): string =>
  text.replaceAll('event: ', ': comment\nid: 17\nretry: 5\nevent: ').replaceAll('\n\n', '\n: end\n\n');

/** The same stream as other upstreams and networks deliver it. */
export function waysToWrite(text: string): Readonly<Record<string, string>> {
  return {
    'as it is': text,
    'CRLF line ends': text.replaceAll('\n', '\r\n'),
    'lone CR line ends': text.replaceAll('\n', '\r'),
    'mixed line ends': text.replace('\n\n', '\r\n\n').replace('\n\n', '\r\r').replace('\n\n', '\n\r\n'),
    'no spaces behind the colons': text.replaceAll('data: ', 'data:').replaceAll('event: ', 'event:'),
    'no event lines': text.replaceAll(/event: .*\n/g, ''),
    'events called messages': text.replaceAll(/event: .*\n/g, 'event: message\n'),
    'no event lines and the type last': text.replaceAll(
      /event: (.*)\ndata: \{"type":"[\w.]+",?(.*)\}\n/g,
      (_, type: string, rest: string) => `data: {${rest}${rest ? ',' : ''} "type" : "${type}"}\n`,
    ),
    'the event line behind the data': text.replaceAll(/(event: .*)\n(data: .*)\n/g, '$2\n$1\n'),
    'comments, ids and retries': decorate(text),
    'comments, ids and retries with CRLF': decorate(text).replaceAll('\n', '\r\n'),
    'data over several lines': text.replaceAll(/^data: \{/gm, 'data: {\ndata:'),
    'a byte order mark': `\uFEFF${text}`,
    'blank lines between events': `\n\n\n${text.replaceAll('\n\n', '\n\n\n')}`,
    'empty data': `event: ping\ndata:\n\ndata: \n\n${text}data:\n\n`,
    'no last blank line': text.trimEnd(),
    'an end in the middle of an event': text.slice(0, text.indexOf('漢')),
    'an end mark of another dialect': `${text}data: [DONE]\n\n`,
    'something behind the end': `${text}event: x\ndata: <html>\n\n`,
    'an error': `${text.slice(0, text.indexOf('event: ', text.indexOf('漢')))}event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"no"}}\n\n${text}`,
    garbage: `${text.slice(0, text.indexOf('event: ', text.indexOf('漢')))}data: <html>no</html>\n\n${text}`,
  };
}
