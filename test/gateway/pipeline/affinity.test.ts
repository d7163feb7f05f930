// Which calls belong together, by affinity?

import { describe, expect, test } from 'vitest';
import type { DialectName } from '../../../gateway/contract/routing-table.ts';
import { findDialect } from '../../../gateway/dialects/registry.ts';
import { RequestBody } from '../../../gateway/json/request-body.ts';
import { affinityText } from '../../../gateway/pipeline/affinity.ts';
import { keyEntry, testKey } from '../rig.ts';

function textOf(
  body: object,
  {
    dialect = 'openai-chat',
    key = 'team/key',
  }: { readonly dialect?: DialectName; readonly key?: string } = {},
  affinity: 'ApiKey' | 'PromptPrefix' | 'None' = 'PromptPrefix',
): string | undefined {
  return affinityText(affinity === 'None' ? undefined : affinity, {
    dialect: findDialect(dialect),
    body: new RequestBody([Buffer.from(JSON.stringify(body))]),
    caller: { key: keyEntry(testKey, key), namespace: 'team' },
  });
}

const user = (content: string) => ({ role: 'user', content });
const assistant = (content: string) => ({ role: 'assistant', content });

test('none: nothing', () => {
  expect(textOf({ messages: [user('hi')] }, {}, 'None')).toBeUndefined();
});

test('ApiKey: the key, whatever is asked', () => {
  expect(textOf({ messages: [user('a')] }, {}, 'ApiKey')).toBe(
    textOf({ messages: [user('b')] }, {}, 'ApiKey'),
  );
  expect(textOf({}, { key: 'team/other' }, 'ApiKey')).not.toBe(textOf({}, {}, 'ApiKey'));
});

describe('PromptPrefix: every turn of a conversation', () => {
  test.each([
    ['a short one', 'hi'],
    ['a long one', 'x'.repeat(5_000)],
    ['one that speaks of the "assistant"', 'be my "assistant"'],
  ])('%s gives the same text', (_name, words) => {
    const first = textOf({ messages: [user(words)] });
    for (const more of [
      [assistant('hello'), user('and now?')],
      [{ content: 'hello', role: 'assistant' }, user('and now?')],
      [{ content: '{"in":[{"braces":"]"}]}', role: 'assistant' }, user('and now?')],
      [assistant('y'.repeat(3_000)), user('and?'), assistant('so'), user('well')],
    ]) {
      expect(textOf({ messages: [user(words), ...more] })).toBe(first);
    }
  });

  const asked = { call_id: 'c', name: 'look', type: 'function_call' };
  const answered = { type: 'function_call_output', call_id: 'c', output: 'rain' };
  test.each([
    ['a call', [{ arguments: '{"at":{"place":"weir"}}', ...asked }, answered]],
    [
      'thoughts',
      [{ id: 'rs_1', summary: [{ type: 'summary_text', text: 'so' }], type: 'reasoning' }, asked, answered],
    ],
    ['a call of a tool of its provider', [{ id: 'ws_1', type: 'web_search_call' }, assistant('rain')]],
    ['an answer', [{ type: 'message', role: 'assistant', content: [] }, user('and now?')]],
  ])('of responses, which the model goes on with %s, gives the same text', (_name, more) => {
    const beginning = [user('look for "type":"reasoning" in {this}')];
    const of = (input: readonly object[]) =>
      textOf({ instructions: 'be brief', input }, { dialect: 'openai-responses' });
    expect(of([...beginning, ...more])).toBe(of(beginning));
    expect(of([...beginning, ...more])).toContain('in {this}');
  });

  test('another beginning gives another text', () => {
    const texts = ['a', 'b', 'ab', 'x'.repeat(900)].map((words) => textOf({ messages: [user(words)] }));
    expect(new Set(texts).size).toBe(texts.length);
  });

  test('what comes behind the first kilobyte does not count: prompts with one long beginning belong together', () => {
    const rules = { role: 'system', content: 'r'.repeat(1_100) };
    expect(textOf({ messages: [rules, user('a')] })).toBe(textOf({ messages: [rules, user('b')] }));
  });

  test.each<[DialectName, object, object]>([
    [
      'anthropic-messages',
      { system: 'one', messages: [user('a')] },
      { system: 'two', messages: [user('a')] },
    ],
    [
      'anthropic-messages',
      { system: 'one', messages: [user('a')] },
      { system: 'one', messages: [user('b')] },
    ],
    ['openai-responses', { instructions: 'one', input: 'a' }, { instructions: 'two', input: 'a' }],
    ['openai-responses', { input: 'a' }, { input: 'b' }],
    ['openai-completions', { prompt: 'a' }, { prompt: 'b' }],
  ])('%s: all members that begin a prompt count', (dialect, one, other) => {
    expect(textOf(one, { dialect })).not.toBe(textOf(other, { dialect }));
    expect(textOf({ ...one, temperature: 1 }, { dialect })).toBe(textOf(one, { dialect }));
  });
});
