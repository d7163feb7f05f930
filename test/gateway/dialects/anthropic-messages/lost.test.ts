// What does one model not take, though the dialect has a word for it?

import { expect, test } from 'vitest';
import { anthropicMessages } from '../../../../gateway/dialects/anthropic-messages/index.ts';
import type { Reasoning } from '../../../../gateway/dialects/conversation.ts';
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
