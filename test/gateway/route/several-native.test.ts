// May a conversation find another provider of its own dialect at its next turn?

import { expect, test } from 'vitest';
import type { DialectName } from '../../../core/contract/routing-table.ts';
import { hasSeveralNative } from '../../../gateway/route/several-native.ts';
import type { RigTarget } from '../rig.ts';
import { routeOf } from './candidates.ts';

const messages: readonly DialectName[] = ['anthropic-messages'];
const target = (dialects: readonly DialectName[], provider: string, more: Partial<RigTarget> = {}) => ({
  dialects: [...dialects],
  provider: `platform/${provider}`,
  providerEntry: { dialects: [...dialects] },
  ...more,
});

test.each<[string, readonly Omit<RigTarget, 'baseUrl'>[], boolean]>([
  ['one target', [target(messages, 'a')], false],
  ['two providers', [target(messages, 'a'), target(messages, 'b')], true],
  ['two targets of one provider', [target(messages, 'a'), target(messages, 'a')], false],
  [
    'two models of one provider',
    [target(messages, 'a', { upstreamModel: 'glm-5' }), target(messages, 'a', { upstreamModel: 'glm-4.6' })],
    false,
  ],
  [
    'models of two vendors at one provider',
    [target(messages, 'a', { upstreamModel: 'glm-5' }), target(messages, 'a', { upstreamModel: 'claude-5' })],
    true,
  ],
  ['a provider of another dialect', [target(messages, 'a'), target(['openai-chat'], 'b')], false],
  [
    'two providers of which one speaks more',
    [target(messages, 'a'), target(['openai-chat', ...messages], 'b')],
    true,
  ],
  [
    'a provider that is drained: it may be in use again',
    [target(messages, 'a'), target(messages, 'b', { weight: 0 })],
    true,
  ],
])('%s', (_, targets, wanted) => {
  const table = routeOf(targets, (whole) => ({
    ...whole,
    providers: whole.providers.filter(
      ({ id }, at) => whole.providers.findIndex((other) => other.id === id) === at,
    ),
  }));
  expect(hasSeveralNative(table, 'anthropic-messages')).toBe(wanted);
});
