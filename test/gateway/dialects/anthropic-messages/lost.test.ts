// What does one call lose, though the dialect has a word for it?

import { describe, expect, test } from 'vitest';
import { anthropicMessages } from '../../../../gateway/dialects/anthropic-messages/index.ts';
import type { Conversation, Reasoning } from '../../../../gateway/dialects/conversation.ts';
import { translateThrough } from '../../../support/translate-through.ts';
import { conversationOf } from '../support/make-conversation.ts';
import { origin } from './talk.ts';

function lostAt(upstreamModel: string, reasoning?: Reasoning): readonly string[] | undefined {
  const conversation = conversationOf(reasoning ? { reasoning } : {});
  const target = { upstreamModel, isStream: false, parameters: {}, origin };
  return anthropicMessages.asUpstream.lost?.(conversation, target);
}

const wish = (effort: string): Reasoning => ({ mode: 'adaptive', effort });

test('models after 4.6 take no sampling', () => {
  expect(lostAt('claude-opus-5')).toEqual(expect.arrayContaining(['temperature', 'top-p', 'top-k']));
  expect(lostAt('claude-opus-4-6')).toEqual([]);
});

test.each([
  ['claude-opus-4-6', 'max', false],
  ['claude-opus-4-6', 'xhigh', true],
  ['claude-opus-4-6', 'minimal', true],
  ['claude-opus-4-6', 'none', false],
  ['claude-sonnet-4-5', 'xhigh', false],
  ['claude-3-5-haiku-latest', 'low', true],
])('%s asked for effort %s: reasoning is lessened: %s', (model, effort, isLessened) => {
  expect(lostAt(model, wish(effort))?.includes('reasoning')).toBe(isLessened);
});

describe('the form of the answer', () => {
  const json = { type: 'json-object' } as const;
  const map = { type: 'object', additionalProperties: { type: 'number' } };
  const open = { type: 'json-schema', schema: map } as const;
  const closed = { type: 'json-schema', schema: { type: 'object', properties: {} } } as const;
  const search = { hasWebSearch: true, toolChoice: { type: 'web-search' } } as const;

  test.each<[string, Partial<Conversation>, readonly string[]]>([
    ['claude-opus-4-8', { output: json }, []],
    ['claude-opus-4-8', { output: open }, []],
    ['glm-5', { output: closed }, []],
    ['claude-opus-5-5', { output: closed }, []],
    ['claude-opus-5-5', { output: open }, ['json-schema']],
    ['claude-opus-5-5', { output: json }, ['json-object']],
    ['claude-opus-4-8', { output: json, ...search }, ['json-object']],
    ['claude-opus-4-8', { output: closed, ...search }, []],
    ['glm-5', { output: closed, ...search }, ['json-schema']],
  ])('%s, %j: lost: %j', (upstreamModel, change, lost) => {
    const target = { upstreamModel, isStream: false, parameters: {}, origin };
    const all = anthropicMessages.asUpstream.lost?.(conversationOf(change), target);
    expect(all?.filter((feature) => feature.startsWith('json'))).toEqual(lost);
  });
});

describe('named to the caller', () => {
  const f = { type: 'function', function: { name: 'f', parameters: { type: 'object' } } };
  const schema = { type: 'json_schema', json_schema: { name: 'n', schema: { type: 'object' } } };
  const called = [
    { role: 'user', content: 'a' },
    {
      role: 'assistant',
      tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: 'c1', content: 'b' },
  ];
  const sampled = { temperature: 0.5, top_p: 1 };

  test.each<[string, string, object, readonly string[]]>([
    [
      'sampling of a model that thinks',
      'claude-opus-4-6',
      { reasoning_effort: 'low', ...sampled },
      ['temperature'],
    ],
    ['sampling of one that does not', 'claude-opus-4-6', { reasoning_effort: 'none', ...sampled }, []],
    [
      'thinking, where a tool is forced',
      'claude-sonnet-4-5',
      { tools: [f], tool_choice: 'required', reasoning_effort: 'low', ...sampled },
      ['reasoning_effort'],
    ],
    [
      'nothing, where a tool is forced and none shall think',
      'claude-sonnet-4-5',
      { tools: [f], tool_choice: 'required' },
      [],
    ],
    [
      'thinking without room in the limit',
      'claude-sonnet-4-5',
      { max_tokens: 1000, reasoning_effort: 'low', ...sampled },
      ['reasoning_effort'],
    ],
    [
      'thinking with room in the limit',
      'claude-sonnet-4-5',
      { max_tokens: 4000, reasoning_effort: 'low', ...sampled },
      ['temperature'],
    ],
    [
      'thinking between calls that were made without',
      'claude-sonnet-4-5',
      { messages: called, tools: [f], reasoning_effort: 'low', ...sampled },
      ['reasoning_effort'],
    ],
    [
      'thinking between calls of a model that needs no budget',
      'claude-opus-4-6',
      { messages: called, tools: [f], reasoning_effort: 'low' },
      [],
    ],
    [
      'thinking, where the answer itself is a forced call',
      'glm-5',
      { response_format: schema, reasoning_effort: 'low' },
      ['reasoning_effort'],
    ],
    [
      'thinking of a model that never does',
      'claude-3-5-haiku-latest',
      { reasoning_effort: 'low', ...sampled },
      ['reasoning_effort'],
    ],
  ])('%s: %s', (_, upstreamModel, members, dropped) => {
    const request = { model: 'm', messages: [{ role: 'user', content: 'a' }], ...members };
    const through = translateThrough(
      'openai-chat',
      'anthropic-messages',
      Buffer.from(JSON.stringify(request)),
      { upstreamModel },
    );
    expect(through.dropped).toEqual(dropped);
    const sent = JSON.parse(String(through.sent[0]));
    const isThinking = ['adaptive', 'enabled'].includes(sent.thinking?.type);
    expect([isThinking, sent.temperature]).toEqual([
      'reasoning_effort' in members &&
        members.reasoning_effort !== 'none' &&
        !dropped.includes('reasoning_effort'),
      'temperature' in members && !dropped.includes('temperature') ? 0.5 : undefined,
    ]);
  });

  test('sampling, where the route itself makes the model think', () => {
    const request = { model: 'm', messages: [{ role: 'user', content: 'a' }], ...sampled };
    const parameters = { thinking: { type: 'adaptive' } };
    const through = translateThrough(
      'openai-chat',
      'anthropic-messages',
      Buffer.from(JSON.stringify(request)),
      { upstreamModel: 'claude-opus-4-6', parameters },
    );
    expect(through.dropped).toEqual(['temperature']);
  });
});
