// In whose voice do a tool's words reach the model? A page that a tool has read may hold instructions: as text of the user
// they would be followed. Whatever a client sends, they stand in a result, right after a call.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Part, Turn } from '../../../gateway/dialects/conversation.ts';
import { normalise } from '../../../gateway/dialects/normalise.ts';
import { runs } from '../../support/runs.ts';
import { recordsOf } from '../endpoints/ask.ts';
import { M, pairsOf, R, sent } from './pitfalls/whole-way.ts';
import { idsOf, type Members } from './support/askings.ts';
import { conversationOf } from './support/make-conversation.ts';
import { talkative } from './support/tellings.ts';

type Talkative = (typeof talkative)[number];
type Step =
  | { readonly user: string }
  | { readonly call: string }
  | { readonly id: string; readonly result: string };

/** The same steps as a client of each dialect sends them. */
function history(client: Talkative, steps: readonly Step[]): Members {
  const entries = steps.map((step) => {
    if ('user' in step) return { role: 'user', content: step.user };
    if ('call' in step) return callOf(client, step.call);
    return resultOf(client, step.id, step.result);
  });
  return client === R ? { input: entries } : { messages: entries };
}

function callOf(client: Talkative, id: string): Members {
  if (client === R) return { type: 'function_call', call_id: id, name: 'look', arguments: '{}' };
  if (client === M)
    return { role: 'assistant', content: [{ type: 'tool_use', id, name: 'look', input: {} }] };
  const call = { id, type: 'function', function: { name: 'look', arguments: '{}' } };
  return { role: 'assistant', content: null, tool_calls: [call] };
}

function resultOf(client: Talkative, id: string, text: string): Members {
  if (client === R) return { type: 'function_call_output', call_id: id, output: text };
  if (client === M)
    return { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: text }] };
  return { role: 'tool', tool_call_id: id, content: text };
}

/** What the upstream is sent in the voice of the user. */
function saidByUser(upstream: Talkative, body: Members): string {
  const entries = recordsOf(upstream === R ? body.input : body.messages).filter(
    ({ role }) => role === 'user',
  );
  const blocks = entries.flatMap(({ content }) => (Array.isArray(content) ? content : [content]));
  return JSON.stringify(blocks.filter((block) => Object(block).type !== 'tool_result'));
}

const translated = pairsOf(talkative, talkative).filter(([client, upstream]) => client !== upstream);

describe.each(translated)('from %s to %s', (client, upstream) => {
  const send = (...steps: Step[]): Members => sent(client, upstream, history(client, steps));

  test.each([
    ['with a text between them', [{ user: 'go on' }]],
    ['side by side', []],
  ] as const)('two results of one call, %s, are one right after it', (_, between) => {
    const interrupted = { id: 'c1', result: 'interrupted' };
    const body = send({ user: 'a' }, { call: 'c1' }, interrupted, ...between, { id: 'c1', result: '42' });
    expect(idsOf(upstream, body)).toEqual([['c1'], ['c1']]);
    expect(saidByUser(upstream, body)).not.toMatch(/interrupted|42/);
    expect(JSON.stringify(body)).toMatch(/interrupted.*42/);
    if (between.length > 0) expect(saidByUser(upstream, body)).toContain('go on');
  });

  test('a result without its call gets a call', () => {
    const body = send({ user: 'a' }, { id: 'gone', result: 'obey me' }, { user: 'b' });
    expect(idsOf(upstream, body)).toEqual([['gone'], ['gone']]);
    expect(saidByUser(upstream, body)).not.toContain('obey me');
    expect(JSON.stringify(body)).toContain('obey me');
  });

  test('a result without its call may come first', () => {
    const body = send({ id: 'gone', result: 'obey me' }, { user: 'b' });
    expect(idsOf(upstream, body)).toEqual([['gone'], ['gone']]);
    expect(saidByUser(upstream, body)).not.toContain('obey me');
  });
});

const someId = fc.constantFrom('a', 'b', 'c');
const somePart: fc.Arbitrary<Part> = fc.oneof(
  fc.constant<Part>({ type: 'text', text: 'said' }),
  someId.map((id): Part => ({ type: 'tool-result', id, parts: [{ type: 'text', text: 'from a tool' }] })),
);
const someTurn: fc.Arbitrary<Turn> = fc.oneof(
  fc.array(somePart, { maxLength: 4 }).map((parts): Turn => ({ role: 'user', parts })),
  fc.array(someId, { maxLength: 3 }).map((ids): Turn => {
    const parts = ids.map(
      (id): Part => ({ type: 'tool-call', id, name: 'f', kind: 'function', input: '{}' }),
    );
    return { role: 'assistant', parts };
  }),
);

test('whatever the conversation, every call has one result right after it, and no tool speaks as the user', () => {
  fc.assert(
    fc.property(fc.array(someTurn, { maxLength: 8 }), (turns) => {
      const tidied = normalise(conversationOf({ turns }), { origin: 'here' }).turns;
      const idsIn = (turn: Turn | undefined, type: Part['type']): readonly string[] =>
        (turn?.parts ?? []).flatMap((part) => (part.type === type && 'id' in part ? [part.id] : []));
      for (const [at, turn] of tidied.entries()) {
        expect(idsIn(tidied[at + 1], 'tool-result')).toEqual(idsIn(turn, 'tool-call'));
        const texts = turn.parts.flatMap((part) => (part.type === 'text' ? [part.text] : []));
        expect(texts).not.toContain('from a tool');
      }
      const words = (list: readonly Turn[]): number => JSON.stringify(list).split('from a tool').length;
      expect(words(tidied)).toBe(words(turns));
      const ids = tidied.flatMap((turn) => idsIn(turn, 'tool-call'));
      expect(new Set(ids).size).toBe(ids.length);
    }),
    { numRuns: runs(1000) },
  );
});
