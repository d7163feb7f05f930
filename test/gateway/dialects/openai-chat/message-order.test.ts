// Does a text after a tool's result reach a model whose provider takes the messages in one order only? Clients of Messages put a
// reminder there in every turn. Mistral refuses a user's message right after a tool's.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Part, Turn } from '../../../../gateway/dialects/conversation.ts';
import { openAiChat } from '../../../../gateway/dialects/openai-chat/index.ts';
import { openCall } from '../../../../gateway/dialects/translate.ts';
import { RequestBody } from '../../../../gateway/json/request-body.ts';
import { mayFollowAtMistral } from '../../../../simulator/model-quirks.ts';
import { recordsOf } from '../../endpoints/ask.ts';
import { C, M, R, sent } from '../pitfalls/whole-way.ts';
import { type Members, png, withImage } from '../support/askings.ts';
import { conversationOf } from '../support/make-conversation.ts';
import { target } from '../support/upstream-call.ts';

const strict = { chatOrder: 'strict' } as const;
const understood = { role: 'assistant', content: 'Understood.' };
const result = { role: 'tool', tool_call_id: 't', content: '42' };
const reminder = { role: 'user', content: '<system-reminder>\nbe short\n</system-reminder>' };
const call = { id: 't', type: 'function', function: { name: 'look', arguments: '{}' } };

/** A call, its result, and what comes after it. */
function history(client: typeof C | typeof R | typeof M, after: Members): Members {
  if (client === C) {
    const messages = [
      { role: 'user', content: 'a' },
      { role: 'assistant', content: null, tool_calls: [call] },
    ];
    return { messages: [...messages, result, after] };
  }
  if (client === R) {
    const made = { type: 'function_call', call_id: 't', name: 'look', arguments: '{}' };
    const output = { type: 'function_call_output', call_id: 't', output: '42' };
    return { input: [{ role: 'user', content: 'a' }, made, output, after] };
  }
  const blocks = [{ type: 'tool_result', tool_use_id: 't', content: '42' }];
  const messages = [
    { role: 'user', content: 'a' },
    { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'look', input: {} }] },
  ];
  if (after.role === 'system') return { messages: [...messages, { role: 'user', content: blocks }, after] };
  return {
    messages: [...messages, { role: 'user', content: [...blocks, { type: 'text', text: after.content }] }],
  };
}

describe.each([C, R, M] as const)('of a client of %s', (client) => {
  const tail = (after: Members, options = {}): unknown =>
    recordsOf(sent(client, C, history(client, after), options).messages).slice(2);
  const system = { role: client === R ? 'developer' : 'system', content: 'be short' };

  test('the text follows a message of the assistant', () => {
    const after = { role: 'user', content: 'be short' };
    expect(tail(after, strict)).toEqual([result, understood, after]);
  });

  test('system text is a reminder after a message of the assistant', () => {
    expect(tail(system, strict)).toEqual([result, understood, reminder]);
  });

  test('elsewhere the order stays', () => {
    expect(tail({ role: 'user', content: 'be short' })).toEqual([
      result,
      { role: 'user', content: 'be short' },
    ]);
    expect(tail(system)).toEqual([result, { role: 'system', content: 'be short' }]);
  });
});

test.each([R, M] as const)('a picture in a result follows a message of the assistant, from %s', (client) => {
  const messages = recordsOf(sent(client, C, withImage[client], strict).messages);
  expect(messages.map(({ role }) => role)).toEqual([
    'user',
    'assistant',
    'tool',
    'tool',
    'assistant',
    'user',
  ]);
  expect(JSON.stringify(messages.at(-1))).toContain(png);
});

describe('in bytes that pass', () => {
  const edit = (messages: string, cuts: readonly number[] = []): string => {
    const bytes = Buffer.from(`{ "messages": ${messages} , "model":"m", "n":1}`);
    const places = [0, ...cuts, bytes.length];
    const body = new RequestBody(places.slice(1).map((to, at) => bytes.subarray(places[at], to)));
    const facts = openAiChat.readRequest(body);
    return Buffer.concat(openAiChat.same.editRequest(body, facts, { ...target, ...strict })).toString('utf8');
  };

  test('nothing else changes', () => {
    const [made, said, over] = [
      '{"role":"assistant","content":null,"tool_calls":[{"id":"t","type":"function","function":{"name":"é","arguments":"{\\"n\\":1.0}"}}]}',
      '{ "role" : "tool", "tool_call_id":"t","content":"42" }',
      '{"content":"be short","role":"user","weight":1.0}',
    ];
    const bridged = JSON.stringify(understood);
    const wanted = `{ "messages": [${made}, ${said} ,\n ${bridged},${over}] , "model":"up", "n":1}`;
    expect(edit(`[${made}, ${said} ,\n ${over}]`)).toBe(wanted);
    for (let at = 1; at < 250; at += 7) expect(edit(`[${made}, ${said} ,\n ${over}]`, [at])).toBe(wanted);
  });

  test('a request in a valid order is passed on unchanged', () => {
    const messages = '[{"role":"system","content":"s"},{"role":"user","content":"a \\"tool\\" 1.0"}]';
    expect(edit(messages)).toBe(`{ "messages": ${messages} , "model":"up", "n":1}`);
  });

  test('a list of texts is a list of reminders', () => {
    const system = { role: 'system', content: [{ type: 'text', text: 'be short' }] };
    const { messages } = JSON.parse(
      edit(JSON.stringify([{ role: 'assistant', tool_calls: [call] }, result, system])),
    );
    expect(messages.slice(2)).toEqual([
      understood,
      { role: 'user', content: [{ type: 'text', text: reminder.content }] },
    ]);
  });
});

const words: Part = { type: 'text', text: 'x' };
const someTurn = fc.constantFrom<Turn>(
  { role: 'user', parts: [words] },
  { role: 'system', parts: [words] },
  { role: 'assistant', parts: [words] },
  { role: 'assistant', parts: [{ type: 'tool-call', id: 'a', name: 'f', kind: 'function', input: '{}' }] },
  { role: 'user', parts: [{ type: 'tool-result', id: 'a', parts: [words] }] },
  { role: 'user', parts: [{ type: 'tool-result', id: 'a', parts: [words] }, words] },
);

test('whatever the turns, each message may follow the one before it', () => {
  fc.assert(
    fc.property(fc.array(someTurn, { maxLength: 8 }), (turns) => {
      const { body } = openCall(openAiChat, conversationOf({ turns }), { ...target, ...strict });
      const roles = recordsOf(JSON.parse(String(body)).messages).map(({ role }) => String(role));
      for (const [at, role] of roles.entries()) {
        const before = roles[at - 1];
        if (before !== undefined)
          expect([before, role, mayFollowAtMistral(role, before)]).toEqual([before, role, true]);
      }
    }),
    { numRuns: 1000 },
  );
});
