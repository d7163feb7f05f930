// What does an upstream of each dialect write for one and the same answer, and what does a client of
// each read out of what it gets? Answers are lists of what is said, in the order it is said.

import type { DialectName } from '../../../../core/contract/routing-table.ts';
import { rebuildAnswer } from '../../../support/rebuild-answer.ts';
import { recordOf, recordsOf } from '../../endpoints/ask.ts';
import { blockOf, endOf, start, textBlock } from './messages-events.ts';
import { delta, done, frame, piece, usageChunk } from './openai-streams.ts';
import { eventText } from './response-events.ts';

export type Said =
  | readonly [kind: 'text' | 'thinking', text: string]
  | readonly [kind: 'call', id: string, name: string, input: string];

type End = 'stop' | 'calls' | 'length';

/** Upstreams that can say all of it. */
export const talkative = ['openai-chat', 'openai-responses', 'anthropic-messages'] as const;

export const all: readonly DialectName[] = [...talkative, 'openai-completions'];

/** A whole stream. */
export function tell(upstream: DialectName, said: readonly Said[], end: End = 'stop'): string {
  return tellers[upstream](said, end);
}

/** The same in one piece. */
export function tellPlain(upstream: DialectName, said: readonly Said[], end: End = 'stop'): Buffer {
  return Buffer.from(JSON.stringify(rebuildAnswer(upstream, tell(upstream, said, end))));
}

const tellers: Readonly<Record<DialectName, (said: readonly Said[], end: End) => string>> = {
  'openai-chat': tellChat,
  'openai-completions': (said, end) =>
    said.map(([, text]) => frame(piece(text))).join('') +
    frame(piece('', end === 'length' ? 'length' : 'stop')) +
    frame({ ...piece(''), choices: [], usage: usageChunk.usage }) +
    done,
  'anthropic-messages': (said, end) =>
    start + said.map(tellBlock).join('') + endOf(messagesEnds[end], { output_tokens: 7 }),
  'openai-responses': tellItems,
};

const chatEnds = { stop: 'stop', calls: 'tool_calls', length: 'length' } as const;
const messagesEnds = { stop: 'end_turn', calls: 'tool_use', length: 'max_tokens' } as const;

function tellChat(said: readonly Said[], end: End): string {
  let calls = 0;
  const deltas = said.map((each) => {
    if (each[0] === 'text') return { content: each[1] };
    if (each[0] === 'thinking') return { reasoning_content: each[1] };
    const [, id, name, input] = each;
    return { tool_calls: [{ index: calls++, id, type: 'function', function: { name, arguments: input } }] };
  });
  const chunks = [{ role: 'assistant', content: '' }, ...deltas].map((each) => frame(delta(each)));
  return chunks.join('') + frame(delta({}, chatEnds[end])) + frame(usageChunk) + done;
}

function tellBlock(said: Said, index: number): string {
  if (said[0] === 'text') return textBlock(index, said[1]);
  if (said[0] === 'thinking') {
    const deltas = [
      { type: 'thinking_delta', thinking: said[1] },
      { type: 'signature_delta', signature: 'sig' },
    ];
    return blockOf(index, { type: 'thinking', thinking: '', signature: '' }, ...deltas);
  }
  const [, id, name, input] = said;
  const deltas = input === '' ? [] : [{ type: 'input_json_delta', partial_json: input }];
  return blockOf(index, { type: 'tool_use', id, name, input: {} }, ...deltas);
}

interface Event {
  readonly type: string;
  readonly [member: string]: unknown;
}

export const responseHead = {
  id: 'resp_1',
  object: 'response',
  created_at: 1_700_000_000,
  model: 'served',
  status: 'in_progress',
  output: [] as readonly unknown[],
};

export const responseUsage = { input_tokens: 7, output_tokens: 3, total_tokens: 10 };

/** Numbered, as the upstream numbers them. */
export function numbered(...events: readonly Event[]): string {
  return eventText(...events.map((event, at) => ({ ...event, sequence_number: at })));
}

function tellItems(said: readonly Said[], end: End): string {
  const items = said.map(itemOf);
  const status = end === 'length' ? 'incomplete' : 'completed';
  const ended = {
    ...responseHead,
    status,
    incomplete_details: end === 'length' ? { reason: 'max_output_tokens' } : null,
    output: items.map(({ whole }) => whole),
    usage: responseUsage,
  };
  return numbered(
    { type: 'response.created', response: responseHead },
    { type: 'response.in_progress', response: responseHead },
    ...items.flatMap(({ begun, whole, events }, at): Event[] => [
      { type: 'response.output_item.added', output_index: at, item: begun },
      ...events.map((event) => ({ ...event, output_index: at, item_id: begun.id })),
      { type: 'response.output_item.done', output_index: at, item: whole },
    ]),
    { type: `response.${status}`, response: ended },
  );
}

function itemOf(
  said: Said,
  at: number,
): { readonly begun: Record<string, unknown>; readonly whole: Record<string, unknown>; events: Event[] } {
  if (said[0] === 'call') {
    const [, call_id, name, input] = said;
    const begun = {
      type: 'function_call',
      id: `fc_${at}`,
      call_id,
      name,
      arguments: '',
      status: 'in_progress',
    };
    const part = 'response.function_call_arguments';
    return {
      begun,
      whole: { ...begun, arguments: input, status: 'completed' },
      events: [
        { type: `${part}.delta`, delta: input },
        { type: `${part}.done`, arguments: input },
      ],
    };
  }
  const [kind, text] = said;
  if (kind === 'thinking') {
    const begun = { type: 'reasoning', id: `rs_${at}`, summary: [] };
    const part = 'response.reasoning_summary_text';
    return {
      begun,
      whole: { ...begun, summary: [{ type: 'summary_text', text }], encrypted_content: 'sealed' },
      events: [
        { type: `${part}.delta`, summary_index: 0, delta: text },
        { type: `${part}.done`, summary_index: 0, text },
      ],
    };
  }
  const begun = { type: 'message', id: `msg_${at}`, role: 'assistant', content: [], status: 'in_progress' };
  const part = 'response.output_text';
  return {
    begun,
    whole: { ...begun, content: [{ type: 'output_text', text, annotations: [] }], status: 'completed' },
    events: [
      { type: `${part}.delta`, content_index: 0, delta: text },
      { type: `${part}.done`, content_index: 0, text },
    ],
  };
}

/** What a client takes a plain answer for: a line for each thing that is said, and how it ended. */
export function hear(client: DialectName, answer: unknown): readonly string[] {
  return hearers[client](recordOf(answer));
}

/** The same of a stream, which must keep to the rules of its dialect. */
export function hearStream(client: DialectName, text: string): readonly string[] {
  return hear(client, rebuildAnswer(client, text));
}

type Answer = Readonly<Record<string, unknown>>;

const hearers: Readonly<Record<DialectName, (answer: Answer) => readonly string[]>> = {
  'openai-chat': hearChat,
  'openai-completions': ({ choices }) =>
    recordsOf(choices).flatMap(({ text, finish_reason }) => [
      ...textLine('text', text),
      String(finish_reason),
    ]),
  'anthropic-messages': ({ content, stop_reason }) => [
    ...recordsOf(content ?? []).flatMap(hearBlock),
    String(stop_reason),
  ],
  'openai-responses': ({ output, status, incomplete_details }) => [
    ...recordsOf(output ?? []).flatMap(hearItem),
    String(recordOf(incomplete_details ?? {}).reason ?? status),
  ],
};

function hearChat({ choices }: Answer): readonly string[] {
  const [choice] = recordsOf(choices);
  const { reasoning_content, content, tool_calls } = recordOf(choice?.message);
  const calls = recordsOf(tool_calls ?? []).map((call) => {
    const { name, arguments: input, input: text } = recordOf(call.function ?? call.custom);
    return callLine(call.type === 'custom' ? 'custom' : 'call', name, input ?? text);
  });
  return [
    ...textLine('thinking', reasoning_content),
    ...textLine('text', content),
    ...calls,
    String(choice?.finish_reason),
  ];
}

function hearBlock({ type, text, thinking, name, input }: Answer): readonly string[] {
  if (type === 'tool_use') return [callLine('call', name, JSON.stringify(input))];
  return type === 'thinking' ? textLine('thinking', thinking) : [`text ${text}`];
}

function hearItem(item: Answer): readonly string[] {
  if (item.type === 'function_call') return [callLine('call', item.name, item.arguments)];
  if (item.type === 'custom_tool_call') return [callLine('custom', item.name, item.input)];
  const isThinking = item.type === 'reasoning';
  const texts = recordsOf((isThinking ? item.summary : item.content) ?? []).map(({ text }) => String(text));
  return [`${isThinking ? 'thinking' : 'text'} ${texts.join(' | ')}`];
}

function textLine(kind: string, text: unknown): readonly string[] {
  return typeof text === 'string' && text !== '' ? [`${kind} ${text}`] : [];
}

function callLine(kind: string, name: unknown, input: unknown): string {
  return `${kind} ${String(name)} ${String(input)}`;
}
