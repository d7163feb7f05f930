// What does a client of each dialect ask for one and the same conversation?

import type { DialectName } from '../../../../core/contract/routing-table.ts';
import { recordsOf } from '../../endpoints/ask.ts';
import { talkative } from './tellings.ts';

const [C, R, M] = talkative;

export type Members = Readonly<Record<string, unknown>>;

type Talkative = (typeof talkative)[number];

export const schema = { type: 'object', properties: { city: { type: 'string' } } };
export const look = {
  [C]: { type: 'function', function: { name: 'look', parameters: schema } },
  [R]: { type: 'function', name: 'look', parameters: schema },
  [M]: { name: 'look', input_schema: schema },
};

/** One question of the user, and a tool where the dialect has tools. */
export const questions: Readonly<Record<DialectName, Members>> = {
  [C]: { model: 'm', messages: [{ role: 'user', content: 'hi' }], tools: [look[C]] },
  [R]: { model: 'm', input: 'hi', tools: [look[R]] },
  [M]: { model: 'm', max_tokens: 4000, messages: [{ role: 'user', content: 'hi' }], tools: [look[M]] },
  'openai-completions': { model: 'm', prompt: 'hi' },
};

export const plainQuestions: Readonly<Record<DialectName, Members>> = {
  ...questions,
  [C]: { ...questions[C], tools: undefined },
  [R]: { ...questions[R], tools: undefined },
  [M]: { ...questions[M], tools: undefined },
};

export const png = 'iVBORw0KGgo=';
export const dataUrl = `data:image/png;base64,${png}`;
export const withImage: Readonly<Record<typeof R | typeof M, Members>> = {
  [M]: {
    messages: [
      { role: 'user', content: 'hi' },
      {
        role: 'assistant',
        content: ['call_1', 'call_2'].map((id) => ({ type: 'tool_use', id, name: 'look', input: {} })),
      },
      {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: 'call_1',
            content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } }],
          },
          { type: 'tool_result', tool_use_id: 'call_2', content: 'cold' },
        ],
      },
    ],
  },
  [R]: {
    input: [
      { role: 'user', content: 'hi' },
      ...['call_1', 'call_2'].map((call_id) => ({
        type: 'function_call',
        call_id,
        name: 'look',
        arguments: '{}',
      })),
      {
        type: 'function_call_output',
        call_id: 'call_1',
        output: [{ type: 'input_image', image_url: dataUrl }],
      },
      { type: 'function_call_output', call_id: 'call_2', output: 'cold' },
    ],
  },
};

/** A history with two calls side by side, and their results; ids may be odd. */
export function callHistory(
  client: Talkative,
  ids: readonly [string, string] = ['call_1', 'call_2'],
  name = 'look',
): Members {
  const [one, two] = ids;
  switch (client) {
    case C: {
      const toolCall = (id: string, city: string) => ({
        id,
        type: 'function',
        function: { name, arguments: JSON.stringify({ city }) },
      });
      return {
        messages: [
          { role: 'user', content: 'hi' },
          { role: 'assistant', content: 'wait', tool_calls: [toolCall(one, 'Rome'), toolCall(two, 'Bern')] },
          { role: 'tool', tool_call_id: one, content: 'warm' },
          { role: 'tool', tool_call_id: two, content: 'cold' },
          { role: 'user', content: 'and?' },
        ],
      };
    }
    case R:
      return {
        input: [
          { role: 'user', content: 'hi' },
          { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'wait' }] },
          { type: 'function_call', call_id: one, name, arguments: '{"city":"Rome"}' },
          { type: 'function_call', call_id: two, name, arguments: '{"city":"Bern"}' },
          { type: 'function_call_output', call_id: one, output: 'warm' },
          { type: 'function_call_output', call_id: two, output: 'cold' },
          { role: 'user', content: 'and?' },
        ],
      };
    case M:
      return {
        messages: [
          { role: 'user', content: 'hi' },
          {
            role: 'assistant',
            content: [
              { type: 'text', text: 'wait' },
              { type: 'tool_use', id: one, name, input: { city: 'Rome' } },
              { type: 'tool_use', id: two, name, input: { city: 'Bern' } },
            ],
          },
          {
            role: 'user',
            content: [
              { type: 'tool_result', tool_use_id: one, content: 'warm' },
              { type: 'tool_result', tool_use_id: two, content: 'cold' },
              { type: 'text', text: 'and?' },
            ],
          },
        ],
      };
  }
}

/** The ids of calls and of results in what an upstream is sent, each in order. */
export function idsOf(
  upstream: DialectName,
  body: Members,
): readonly [calls: readonly unknown[], results: readonly unknown[]] {
  if (upstream === R) {
    const items = recordsOf(body.input);
    const of = (type: string) => items.filter((item) => item.type === type).map(({ call_id }) => call_id);
    return [of('function_call'), of('function_call_output')];
  }
  const messages = recordsOf(body.messages);
  if (upstream === C) {
    return [
      messages.flatMap(({ tool_calls }) => recordsOf(tool_calls ?? []).map(({ id }) => id)),
      messages.flatMap(({ tool_call_id }) => tool_call_id ?? []),
    ];
  }
  const blocks = messages.flatMap(({ content }) => (Array.isArray(content) ? recordsOf(content) : []));
  return [
    blocks.flatMap(({ type, id }) => (type === 'tool_use' ? [id] : [])),
    blocks.flatMap(({ tool_use_id }) => tool_use_id ?? []),
  ];
}
