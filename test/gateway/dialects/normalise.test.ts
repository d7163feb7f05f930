// Which turns does an upstream get to see?

import { describe, expect, test } from 'vitest';
import { anthropicMessages } from '../../../gateway/dialects/anthropic-messages/index.ts';
import type { Conversation, Part, Turn } from '../../../gateway/dialects/conversation.ts';
import type { Dialect } from '../../../gateway/dialects/dialect.ts';
import { normalise } from '../../../gateway/dialects/normalise.ts';
import { openAiChat } from '../../../gateway/dialects/openai-chat/index.ts';
import { openAiCompletions } from '../../../gateway/dialects/openai-completions/index.ts';
import { openAiResponses } from '../../../gateway/dialects/openai-responses/index.ts';
import { openCall } from '../../../gateway/dialects/translate.ts';
import { startCpuTimer } from '../../support/cpu-timer.ts';
import { conversationOf } from './support/make-conversation.ts';

const text = (value: string): Part => ({ type: 'text', text: value });
const call = (id: string): Part => ({ type: 'tool-call', id, name: 'f', kind: 'function', input: '{}' });
const result = (id: string, said = 'ok'): Part => ({ type: 'tool-result', id, parts: [text(said)] });
const user = (...parts: Part[]): Turn => ({ role: 'user', parts });
const assistant = (...parts: Part[]): Turn => ({ role: 'assistant', parts });
const system = (...parts: Part[]): Turn => ({ role: 'system', parts });
const missing: Part = { type: 'tool-result', id: 'a', parts: [text('no result')], isError: true };

const target = { origin: 'here' };
const sentTo = (dialect: Dialect, change: Partial<Conversation>, upstreamModel = 'm'): unknown => {
  const whole = { upstreamModel, isStream: false, parameters: {}, origin: 'here' };
  return JSON.parse(openCall(dialect, conversationOf(change), whole).body.toString());
};
const turnsOf = (...turns: Turn[]): readonly Turn[] => normalise(conversationOf({ turns }), target).turns;

describe('turns', () => {
  test('neighbours of one role are one turn', () => {
    expect(turnsOf(user(text('1')), user(text('2')), assistant(text('3')), assistant(text('4')))).toEqual([
      user(text('1'), text('2')),
      assistant(text('3'), text('4')),
    ]);
  });

  test('a hundred thousand neighbours are one turn in a moment', () => {
    const turns = Array.from({ length: 100_000 }, () => user(text('x')));
    const workedMs = startCpuTimer();
    expect(turnsOf(...turns)[0]?.parts).toHaveLength(turns.length);
    // Hundreds of times what it takes, and less than copying them again for each.
    expect(workedMs()).toBeLessThan(10_000);
  });

  test('system turns stay where they are, one by one', () => {
    const turns = [user(text('1')), system(text('2')), system(text('3')), user(text('4'))];
    expect(turnsOf(...turns)).toEqual(turns);
  });

  test('58: a turn of white space is left out, and empty text', () => {
    expect(turnsOf(user(text('1')), assistant(text(' \n')), user(text(''), text('2')))).toEqual([
      user(text('1'), text('2')),
    ]);
    expect(turnsOf(user(text('1')), user(text(' '), text('\n')))).toEqual([user(text('1'))]);
    expect(normalise(conversationOf({ system: [text(' '), text('be kind')] }), target).system).toEqual([
      text('be kind'),
    ]);
  });
});

describe('white space between texts', () => {
  const pieces = [text('a'), text('\n\n'), text('b')];

  test('stays where the upstream takes it', () => {
    expect(turnsOf(user(...pieces))).toEqual([user(...pieces)]);
  });

  test('is left out where the upstream refuses it', () => {
    const conversation = conversationOf({ turns: [user(...pieces)] });
    expect(normalise(conversation, target, { refusesBlankText: true }).turns).toEqual([
      user(text('a'), text('b')),
    ]);
  });

  test.each([
    { dialect: openAiChat, stays: true },
    { dialect: openAiCompletions, stays: true },
    { dialect: openAiResponses, stays: true },
    { dialect: anthropicMessages, stays: false },
  ])('$dialect.name: $stays', ({ dialect, stays }) => {
    const sent = JSON.stringify(sentTo(dialect, { turns: [user(...pieces)] }));
    expect(sent.includes('\\n\\n')).toBe(stays);
    expect(sent).toMatch(/a.*b/);
  });

  test('does not replace thinking that an upstream wants first', () => {
    const opaque = { origin: 'here', state: { kind: 'signature', value: 's' } } as const;
    const turns = [
      ...[user(text('1')), assistant(text(' '), { type: 'thinking', text: 'hm', opaque }, call('a'))],
      user(result('a')),
    ];
    const reasoning = { mode: 'budget', budgetTokens: 2000 } as const;
    const sent = { turns, reasoning, maxOutputTokens: 4000 };
    expect(sentTo(anthropicMessages, sent, 'claude-sonnet-4-5')).toHaveProperty('thinking.type', 'enabled');
  });
});

describe('an empty turn', () => {
  test('is left out', () => {
    expect(turnsOf(user(text('1')), assistant(text('2')), user())).toEqual([
      user(text('1')),
      assistant(text('2')),
    ]);
  });

  test('does not take the place of a prompt of white space', () => {
    const turns = [user(text(' ')), user()];
    expect(turnsOf(...turns)).toEqual([user(text(' '))]);
    expect(sentTo(openAiChat, { turns })).toMatchObject({ messages: [{ role: 'user', content: ' ' }] });
  });

  test('never carries the state of another provider', () => {
    const opaque = { origin: 'there', state: { kind: 'signature', value: 's' } } as const;
    expect(turnsOf(assistant({ type: 'thinking', text: 'hm', opaque }))).toEqual([]);
  });
});

describe('calls and results', () => {
  test('39: parallel results are one turn, in the order of the calls, before the user’s text', () => {
    expect(
      turnsOf(assistant(call('a'), call('b')), user(text('and now?')), user(result('b')), user(result('a'))),
    ).toEqual([assistant(call('a'), call('b')), user(result('a'), result('b'), text('and now?'))]);
  });

  test('a call without an answer is answered with an error', () => {
    expect(turnsOf(assistant(call('a')), user(text('never mind')))).toEqual([
      assistant(call('a')),
      user(missing, text('never mind')),
    ]);
    expect(turnsOf(assistant(call('a')))).toEqual([assistant(call('a')), user(missing)]);
  });

  const lost = (id: string): Part => ({ ...call(id), name: 'unknown_tool' }) as Part;

  test('a result without a call gets a call, and is never user text', () => {
    expect(turnsOf(user(result('gone', 'sunny')), assistant(text('ok')))).toEqual([
      assistant(lost('gone')),
      user(result('gone', 'sunny')),
      assistant(text('ok')),
    ]);
    const said = user(text('before'), result('gone', 'sunny'), text('after'), result('lost'));
    expect(turnsOf(said)).toEqual([
      user(text('before')),
      assistant(lost('gone'), lost('lost')),
      user(result('gone', 'sunny'), result('lost'), text('after')),
    ]);
    expect(turnsOf(assistant(call('a')), user(result('a'), result('gone', 'sunny')))).toEqual([
      ...[assistant(call('a')), user(result('a'))],
      ...[assistant(lost('gone')), user(result('gone', 'sunny'))],
    ]);
  });

  test('a result before its call belongs to no call', () => {
    expect(turnsOf(user(result('a', 'early')), assistant(call('a')), user(text('x')))).toEqual([
      ...[assistant(lost('a')), user(result('a', 'early'))],
      ...[assistant(call('a_2')), user({ ...missing, id: 'a_2' } as Part, text('x'))],
    ]);
  });

  test('a further result of a call joins the first, and text between them stays', () => {
    const failed = { ...result('a', 'interrupted'), isError: true } as Part;
    const both = { ...result('a'), parts: [text('interrupted'), text('42')] } as Part;
    const turns = [assistant(call('a')), user(failed), user(text('go on')), user(result('a', '42'))];
    expect(turnsOf(...turns)).toEqual([assistant(call('a')), user(both, text('go on'))]);
    expect(turnsOf(assistant(call('a')), user(failed, result('a', '42')))).toEqual([
      ...[assistant(call('a')), user(both)],
    ]);
    const later = [assistant(call('a')), user(failed), assistant(text('hm')), user(result('a', '42'))];
    expect(turnsOf(...later)).toEqual([assistant(call('a')), user(both), assistant(text('hm'))]);
  });

  test('a system turn between call and result does not come between them', () => {
    expect(turnsOf(assistant(call('a')), system(text('hurry')), user(result('a')))).toEqual([
      assistant(call('a')),
      user(result('a')),
      system(text('hurry')),
    ]);
  });

  test('a reused id is changed, on both sides, for each call after the first', () => {
    const turns = ['1', '2', '3'].flatMap((said) => [assistant(call('a')), user(result('a', said))]);
    expect(turnsOf(...turns)).toEqual([
      ...[assistant(call('a')), user(result('a', '1'))],
      ...[assistant(call('a_2')), user(result('a_2', '2'))],
      ...[assistant(call('a_3')), user(result('a_3', '3'))],
    ]);
  });

  test('calls of one id in one turn get their results in order, each once', () => {
    const answered = [result('a', '1'), result('a', '2'), result('a', 'one too many')];
    const second = { ...result('a_2'), parts: [text('2'), text('one too many')] } as Part;
    const expected = [assistant(call('a'), call('a_2')), user(result('a', '1'), second)];
    expect(turnsOf(assistant(call('a'), call('a')), user(...answered))).toEqual(expected);
    expect(turnsOf(assistant(call('a')), assistant(call('a')), user(...answered))).toEqual(expected);
  });

  test('a call without a result does not get the result of a later call', () => {
    expect(
      turnsOf(assistant(call('a')), user(text('x')), assistant(call('a')), user(result('a', 'late'))),
    ).toEqual([
      ...[assistant(call('a')), user(missing, text('x'))],
      ...[assistant(call('a_2')), user(result('a_2', 'late'))],
    ]);
  });

  test('an id made for one call is not the id of another', () => {
    const ids = ['a', 'a_2', 'a', 'a_2'];
    const [calls, results] = turnsOf(
      assistant(...ids.map(call)),
      user(...ids.map((id, at) => result(id, `${at}`))),
    );
    expect(calls).toEqual(assistant(...['a', 'a_2', 'a_3', 'a_2_2'].map(call)));
    expect(results).toEqual(user(...['a', 'a_2', 'a_3', 'a_2_2'].map((id, at) => result(id, `${at}`))));
  });

  test.each<[Dialect, string]>([
    [openAiChat, '"tool_call_id":"([^"]+)"'],
    [openAiResponses, '_output","call_id":"([^"]+)"'],
    [anthropicMessages, '"tool_use_id":"([^"]+)"'],
  ])('$name gets no id twice, also after ids were changed to fit', (dialect, pattern) => {
    for (const id of ['call_0', 'functions.f:0', 'x'.repeat(200)]) {
      const turns = ['1', '2', '3'].flatMap((said) => [assistant(call(id)), user(result(id, said))]);
      const body = JSON.stringify(sentTo(dialect, { turns }));
      const ids = [...body.matchAll(new RegExp(pattern, 'g'))].map(([, found]) => found);
      expect(new Set(ids).size).toBe(3);
      for (const found of ids) expect(body.split(`"${found}"`)).toHaveLength(3);
    }
  });
});

describe('opaque state', () => {
  const thinking = (origin?: string): Part => ({
    type: 'thinking',
    text: 'hm',
    opaque: { ...(origin === undefined ? {} : { origin }), state: { kind: 'signature', value: 's' } },
  });

  test('comes back to the provider it came from', () => {
    expect(turnsOf(assistant(thinking('here'), text('1')))).toEqual([assistant(thinking('here'), text('1'))]);
  });

  test('45: is never sent to another, nor the thinking that is bound to it', () => {
    expect(turnsOf(assistant(thinking('there'), text('1')))).toEqual([assistant(text('1'))]);
    expect(turnsOf(assistant(thinking(), text('1')))).toEqual([assistant(text('1'))]);
  });

  test('thinking without any stays, as text', () => {
    const plain = { type: 'thinking', text: 'hm' } as const;
    expect(turnsOf(assistant(plain, text('1')))).toEqual([assistant(plain, text('1'))]);
  });
});

test('61: more output tokens than the model can give are as many as it can', () => {
  const conversation = conversationOf({ maxOutputTokens: 64_000 });
  expect(normalise(conversation, { ...target, maxOutputTokens: 8_192 }).maxOutputTokens).toBe(8_192);
  expect(normalise(conversation, { ...target, maxOutputTokens: 128_000 }).maxOutputTokens).toBe(64_000);
  expect(normalise(conversation, target).maxOutputTokens).toBe(64_000);
  expect(normalise(conversationOf(), { ...target, maxOutputTokens: 8_192 }).maxOutputTokens).toBeUndefined();
});

test('a prompt of white space only is still a prompt', () => {
  expect(turnsOf(user(text(' ')))).toEqual([user(text(' '))]);
});
