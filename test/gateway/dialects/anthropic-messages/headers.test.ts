// Which headers of a messages client go on?

import { expect, test } from 'vitest';
import { anthropicMessages } from '../../../../gateway/dialects/anthropic-messages/index.ts';

test.each(['anthropic-version', 'anthropic-beta'])('%s goes to every provider', (name) => {
  expect([
    anthropicMessages.forwardsHeader(name, true),
    anthropicMessages.forwardsHeader(name, false),
  ]).toEqual([true, true]);
});

test.each([
  'anthropic-workspace-id',
  'anthropic-organization-id',
  'anthropic-dangerous-direct-browser-access',
])('%s goes to the own provider only', (name) => {
  expect(anthropicMessages.forwardsHeader(name, true)).toBe(true);
  expect(anthropicMessages.forwardsHeader(name, false)).toBe(false);
});

test.each(['authorization', 'x-api-key', 'cookie', 'x-claude-code-session-id'])(
  '%s is not sent on',
  (name) => {
    expect(anthropicMessages.forwardsHeader(name, true)).toBe(false);
  },
);
