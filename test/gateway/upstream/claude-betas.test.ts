// Which betas of Claude are sent to a cloud? Only those that it is known to take, by its names: one unknown beta fails the whole request.

import { describe, expect, test } from 'vitest';
import type { OperationName } from '../../../core/catalog/operations.ts';
import type { UpstreamDialectName } from '../../../core/contract/routing-table.ts';
import { seatRows } from '../../../gateway/upstream/seats.ts';

const clouds = ['AzureOpenAI', 'Bedrock', 'VertexAI'] as const;
type Cloud = (typeof clouds)[number];

interface Asked {
  readonly model?: string;
  readonly dialect?: UpstreamDialectName;
  readonly operation?: OperationName;
}

function sentTo(cloud: Cloud, beta: string, asked: Asked = {}): string | undefined {
  const { model = 'claude-sonnet-4-5', dialect = 'anthropic-messages', operation = 'generate' } = asked;
  const ask = { model, dialect, operation, isStream: false, path: '', query: '' };
  const headers = seatRows
    .get(cloud)
    ?.headersFor?.(ask, ['x-first', '1', 'anthropic-beta', beta, 'x-last', '']);
  expect([headers?.slice(0, 2), headers?.slice(-2)]).toEqual([
    ['x-first', '1'],
    ['x-last', ''],
  ]);
  const at = headers?.indexOf('anthropic-beta') ?? -1;
  return at === -1 ? undefined : headers?.[at + 1];
}

describe.each(clouds)('cloud 31: at %s', (cloud) => {
  test.each([
    ['a sign-in at Anthropic', 'oauth-2025-04-20'],
    ['a beta that nobody knows yet', 'dreams-2027-01-01'],
    ['a beta of Anthropic alone', 'fast-mode-2026-02-01'],
    ['the mark of Claude Code, which asks for nothing', 'claude-code-20250219'],
    ['nothing', ''],
    ['a member of every object', 'constructor,__proto__'],
  ])('%s is not sent', (_, beta) => {
    expect(sentTo(cloud, beta)).toBeUndefined();
    expect(sentTo(cloud, `${beta}, ,context-management-2025-06-27,`)).toBe('context-management-2025-06-27');
  });

  test('another dialect keeps its headers', () => {
    expect(sentTo(cloud, 'dreams-2027-01-01', { dialect: 'openai-chat' })).toBe('dreams-2027-01-01');
  });
});

test.each<[Cloud, string, string | undefined]>([
  ['AzureOpenAI', 'advanced-tool-use-2025-11-20', 'advanced-tool-use-2025-11-20'],
  ['Bedrock', 'advanced-tool-use-2025-11-20', 'tool-search-tool-2025-10-19'],
  ['VertexAI', 'advanced-tool-use-2025-11-20', 'tool-search-tool-2025-10-19'],
  ['VertexAI', 'advanced-tool-use-2025-11-20,tool-search-tool-2025-10-19', 'tool-search-tool-2025-10-19'],
  ['AzureOpenAI', 'effort-2025-11-24', 'effort-2025-11-24'],
  ['Bedrock', 'effort-2025-11-24', 'effort-2025-11-24'],
  ['VertexAI', 'effort-2025-11-24', undefined],
  ['AzureOpenAI', 'prompt-caching-scope-2026-01-05', 'prompt-caching-scope-2026-01-05'],
  ['Bedrock', 'prompt-caching-scope-2026-01-05', undefined],
  ['VertexAI', 'prompt-caching-scope-2026-01-05', undefined],
])('cloud 31: %s is asked for %s by %s', (cloud, beta, sent) => {
  expect(sentTo(cloud, beta)).toBe(sent);
});

describe.each(['Bedrock', 'VertexAI'] as const)('thinking between tool calls at %s', (cloud) => {
  test.each([
    ['claude-sonnet-4@20250514', true],
    ['us.anthropic.claude-sonnet-4-5-20250929-v1:0', true],
    ['claude-opus-4-5@20251101', true],
    ['anthropic.claude-opus-4-1-20250805-v1:0', true],
    ['anthropic.claude-opus-4-7', false],
    ['claude-opus-5', false],
    ['claude-haiku-4-5@20251001', false],
  ])('is asked for where the model needs the beta: %s: %s', (model, isSent) => {
    const beta = 'interleaved-thinking-2025-05-14';
    expect(sentTo(cloud, beta, { model })).toBe(isSent ? beta : undefined);
  });
});

test('cloud 31: Vertex AI counts tokens without the betas that only its answers know', () => {
  const betas = 'context-1m-2025-08-07,context-management-2025-06-27,web-search-2025-03-05';
  expect(sentTo('VertexAI', betas, { operation: 'count-tokens' })).toBe('context-management-2025-06-27');
  expect(sentTo('VertexAI', betas)).toBe(betas);
});
