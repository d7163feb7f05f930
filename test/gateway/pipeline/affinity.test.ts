// Which calls belong together, by affinity?

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { DialectName } from '../../../core/contract/routing-table.ts';
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

test('None: a request has no affinity', () => {
  expect(textOf({ messages: [user('hi')] }, {}, 'None')).toBeUndefined();
});

test('ApiKey: all requests of a key belong together', () => {
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

  test.each(['role', 'content'])('whatever its length, where %s is first', (first) => {
    const turn = (role: string, content: string) =>
      first === 'role' ? { role, content } : { content, role };
    for (let length = 0; length < 1_190; length++) {
      const beginning = [turn('user', 'x'.repeat(length))];
      const texts = [
        [turn('assistant', 'hello'), turn('user', 'and now?')],
        [turn('assistant', `${'[y] {'.repeat(300)}`), turn('user', 'and?')],
      ].map((more) => textOf({ messages: [...beginning, ...more] }));
      expect(new Set([textOf({ messages: beginning }), ...texts]).size, `${length}`).toBe(1);
    }
  });

  const rules = (cch: string, more: object = {}) => [
    {
      type: 'text',
      text: `x-anthropic-billing-header: cc_version=2.1; cc_entrypoint=cli; cch=${cch};`,
      ...more,
    },
    { type: 'text', text: 'You are an agent. '.repeat(80), cache_control: { type: 'ephemeral' } },
  ];

  test.each<[string, unknown, unknown]>([
    ['in a separate block', rules('0'), rules('a7f31')],
    [
      'in a block that says more',
      rules('0', { cache_control: null }),
      rules('a7f31', { cache_control: { type: 'ephemeral', ttl: '1h' } }),
    ],
    [
      'at the start of the only block',
      [{ type: 'text', text: 'x-anthropic-billing-header: cch=0;\nbe brief' }],
      [{ type: 'text', text: 'x-anthropic-billing-header: cch=a7f31;\nbe brief' }],
    ],
    [
      'at the start of a text',
      'x-anthropic-billing-header: cch=0;\nbe brief',
      'x-anthropic-billing-header: cch=a7f31;\nbe brief',
    ],
  ])('text of a client about itself, %s, does not count', (_name, one, other) => {
    const of = (system: unknown) =>
      textOf({ system, messages: [user('hi')] }, { dialect: 'anthropic-messages' });
    expect(of(one)).toBe(of(other));
    expect(of(one)).toMatch(/be brief|You are an agent/);
    expect(of('be brief')).not.toBe(of('be long'));
  });

  test('a cache mark that moves does not count, wherever it is', () => {
    const mark = { cache_control: { type: 'ephemeral', ttl: '1h' } };
    const block = (text: string) => ({ type: 'text', text });
    const of = (...content: readonly object[]) =>
      textOf({ messages: [{ role: 'user', content }] }, { dialect: 'anthropic-messages' });
    for (const text of ['say "cache_control": {}', 'x'.repeat(985), 'x'.repeat(2_000), 'ß'.repeat(600)]) {
      const [plain, other] = [of(block(text), block('and')), of(block('b'), block('and'))];
      expect(of({ ...block(text), ...mark }, block('and'))).toBe(plain);
      expect(of({ ...mark, ...block(text) }, block('and'))).toBe(plain);
      expect(of({ ...block(text), cache_control: null }, { ...block('and'), ...mark })).toBe(plain);
      expect(other).not.toBe(plain);
    }
    expect(of(block('say "cache_control": {}'))).not.toBe(of(block('say ')));
  });

  test('a text in a list with only a cache mark equals the plain text, whatever its length', () => {
    const of = (content: unknown, ...more: readonly object[]) =>
      textOf({ messages: [{ role: 'user', content }, ...more] }, { dialect: 'anthropic-messages' });
    for (let length = 0; length < 1_700; length++) {
      const text = 'x'.repeat(length);
      const marked = [{ type: 'text', text, cache_control: { type: 'ephemeral' } }];
      expect(of(marked), `${length}`).toBe(of(text, assistant('hello'), user('and now?')));
    }
    expect(
      of([
        { type: 'text', text: 'a' },
        { type: 'text', text: 'b' },
      ]),
    ).not.toBe(of('a'));
  });

  test('the turns of Claude Code have the same text', () => {
    const of = (turn: string) => {
      const path = join(import.meta.dirname, '../../fixtures/clients/claude-code', `${turn}.json`);
      return textOf(JSON.parse(readFileSync(path, 'utf8')).body, { dialect: 'anthropic-messages' });
    };
    expect(of('tool-result')).toBe(of('first-turn'));
  });

  test('a complete message counts, also without its role', () => {
    const of = (...input: readonly object[]) => textOf({ input }, { dialect: 'openai-responses' });
    const begun = of(user('hi'), answered);
    expect(begun).toContain('rain');
    expect(of(user('hi'), answered, assistant('rain'))).toBe(begun);
  });

  test('of a conversation that begins with two turns, the cut one counts', () => {
    const rules = { role: 'system', content: 'r'.repeat(900) };
    const of = (words: string) => textOf({ messages: [rules, user(words.padEnd(2_000, '.'))] });
    expect(of('a')).not.toBe(of('b'));
  });

  test('another beginning is another text', () => {
    const texts = ['a', 'b', 'ab', 'x'.repeat(900)].map((words) => textOf({ messages: [user(words)] }));
    expect(new Set(texts).size).toBe(texts.length);
  });

  test('text after the first kilobyte does not count: prompts with the same long beginning belong together', () => {
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
  ])('%s: all members at the beginning of a prompt count', (dialect, one, other) => {
    expect(textOf(one, { dialect })).not.toBe(textOf(other, { dialect }));
    expect(textOf({ ...one, temperature: 1 }, { dialect })).toBe(textOf(one, { dialect }));
  });
});
