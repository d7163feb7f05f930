// Pieces of a call that passes through look alike. Where an upstream counts every call as 0, those of the second must not be taken
// for more of the first: a tool would run with arguments that no model has written.

import { expect, test } from 'vitest';
import { relayChat } from '../../../../gateway/dialects/openai-chat/relay.ts';
import { asRecord } from '../../../../gateway/json/record.ts';

const event = (delta: object, reason: string | null = null): string =>
  `data: ${JSON.stringify({
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [{ index: 0, delta, finish_reason: reason }],
  })}\n\n`;
const begin = (id: string, name: string) => ({
  tool_calls: [{ index: 0, id, type: 'function', function: { name, arguments: '' } }],
});
const piece = (text: string) => ({ tool_calls: [{ index: 0, function: { arguments: text } }] });

/** The choices that a client gets. */
function relayed(chunks: readonly string[]): readonly Record<string, unknown>[] {
  const head = () => ({ id: 'z', createdAt: 1, model: 'm', inputEstimate: 1 });
  const facts = { model: 'm', isStream: true, wantsUsage: true, choices: 1 };
  const stream = relayChat.relayStream(facts, undefined, head);
  const bytes = [...chunks.map((chunk) => stream.push(Buffer.from(chunk))), stream.end()];
  return Buffer.concat(bytes.flatMap((each) => each ?? []))
    .toString()
    .split('\n\n')
    .flatMap((text) => (text.startsWith('data: {') ? [JSON.parse(text.slice(6)).choices[0]] : []));
}

const callsIn = (choices: readonly Record<string, unknown>[]): Record<string, string> => {
  const calls: Record<string, string> = {};
  for (const { delta } of choices) {
    const entries = asRecord(delta)?.tool_calls;
    for (const entry of Array.isArray(entries) ? entries : []) {
      calls[entry.index] = (calls[entry.index] ?? '') + entry.function.arguments;
    }
  }
  return calls;
};

const twoCalls = [
  event({ role: 'assistant', content: 'Let me see' }),
  event(begin('call_a', 'f')),
  event(piece('{"x"')),
  event(piece(':1}')),
  event(begin('call_b', 'g')),
  event(piece('{"y"')),
  event(piece(':2}')),
  event({}, 'tool_calls'),
  'data: [DONE]\n\n',
];

test.each([
  ['in one chunk', [twoCalls.join('')]],
  ['one by one', twoCalls],
])('two calls that are both counted as 0 keep their own arguments, %s', (_, chunks) => {
  expect(callsIn(relayed(chunks))).toEqual({ 0: '{"x":1}', 1: '{"y":2}' });
});

test('a call beside a text is seen, and the stream ends with `tool_calls`', () => {
  const call = { id: 'call_a', type: 'function', function: { name: 'f', arguments: '{}' } };
  const choices = relayed([
    event({ content: 'a' }),
    event({ content: 'b' }),
    event({ content: 'c', tool_calls: [call] }),
    event({}, 'stop'),
    'data: [DONE]\n\n',
  ]);
  expect(callsIn(choices)).toEqual({ 0: '{}' });
  expect(choices.at(-1)).toMatchObject({ finish_reason: 'tool_calls' });
});
