// Which turns does an upstream get to see?

import { describe, expect, test } from 'vitest';
import type { Part, Turn } from '../../../gateway/dialects/conversation.ts';
import { tidy } from '../../../gateway/dialects/tidy.ts';
import { conversationOf } from './support/make-conversation.ts';

const text = (value: string): Part => ({ type: 'text', text: value });
const call = (id: string): Part => ({ type: 'tool-call', id, name: 'f', kind: 'function', input: '{}' });
const result = (id: string, said = 'ok'): Part => ({ type: 'tool-result', id, parts: [text(said)] });
const user = (...parts: Part[]): Turn => ({ role: 'user', parts });
const assistant = (...parts: Part[]): Turn => ({ role: 'assistant', parts });
const system = (...parts: Part[]): Turn => ({ role: 'system', parts });
const missing: Part = { type: 'tool-result', id: 'a', parts: [text('no result')], isError: true };

const target = { origin: 'here' };
const turnsOf = (...turns: Turn[]): readonly Turn[] => tidy(conversationOf({ turns }), target).turns;

describe('turns', () => {
  test('neighbours of one role are one turn', () => {
    expect(turnsOf(user(text('1')), user(text('2')), assistant(text('3')), assistant(text('4')))).toEqual([
      user(text('1'), text('2')),
      assistant(text('3'), text('4')),
    ]);
  });

  test('system turns stay where they are, one by one', () => {
    const turns = [user(text('1')), system(text('2')), system(text('3')), user(text('4'))];
    expect(turnsOf(...turns)).toEqual(turns);
  });

  test('58: text of white space is nothing, and a turn of nothing is left out', () => {
    expect(turnsOf(user(text('1')), assistant(text(' \n')), user(text(''), text('2')))).toEqual([
      user(text('1'), text('2')),
    ]);
    expect(tidy(conversationOf({ system: [text(' '), text('be kind')] }), target).system).toEqual([
      text('be kind'),
    ]);
  });
});

describe('calls and results', () => {
  test('39: parallel results are one turn, in the order of the calls, before what the user says', () => {
    expect(
      turnsOf(assistant(call('a'), call('b')), user(text('and now?')), user(result('b')), user(result('a'))),
    ).toEqual([assistant(call('a'), call('b')), user(result('a'), result('b'), text('and now?'))]);
  });

  test('a call that nobody answered is answered with an error', () => {
    expect(turnsOf(assistant(call('a')), user(text('never mind')))).toEqual([
      assistant(call('a')),
      user(missing, text('never mind')),
    ]);
    expect(turnsOf(assistant(call('a')))).toEqual([assistant(call('a')), user(missing)]);
  });

  test('a result without a call is what the user says', () => {
    expect(turnsOf(user(result('gone', 'sunny')), assistant(text('ok')))).toEqual([
      user(text('sunny')),
      assistant(text('ok')),
    ]);
  });

  test('a result before its call belongs to no call', () => {
    expect(turnsOf(user(result('a', 'early')), assistant(call('a')), user(text('x')))).toEqual([
      user(text('early')),
      assistant(call('a')),
      user(missing, text('x')),
    ]);
  });

  test('a system turn between call and result does not come between them', () => {
    expect(turnsOf(assistant(call('a')), system(text('hurry')), user(result('a')))).toEqual([
      assistant(call('a')),
      user(result('a')),
      system(text('hurry')),
    ]);
  });

  test('an id that is used again pairs each call with the result behind it', () => {
    expect(
      turnsOf(assistant(call('a')), user(result('a', '1')), assistant(call('a')), user(result('a', '2'))),
    ).toEqual([assistant(call('a')), user(result('a', '1')), assistant(call('a')), user(result('a', '2'))]);
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
  expect(tidy(conversation, { ...target, maxOutputTokens: 8_192 }).maxOutputTokens).toBe(8_192);
  expect(tidy(conversation, { ...target, maxOutputTokens: 128_000 }).maxOutputTokens).toBe(64_000);
  expect(tidy(conversation, target).maxOutputTokens).toBe(64_000);
  expect(tidy(conversationOf(), { ...target, maxOutputTokens: 8_192 }).maxOutputTokens).toBeUndefined();
});

test('a prompt of white space only is still a prompt', () => {
  expect(turnsOf(user(text(' ')))).toEqual([user(text(' '))]);
});
