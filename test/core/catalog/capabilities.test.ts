// What the capabilities table says of every pair.

import { expect, test } from 'vitest';
import { capability, features, rankUpstreams } from '../../../core/catalog/capabilities.ts';
import { dialectNameSchema } from '../../../core/contract/routing-table.ts';

const dialects = dialectNameSchema.options;

test('a dialect at an upstream of the same dialect supports everything', () => {
  for (const dialect of dialects) {
    for (const feature of features) expect(capability(dialect, dialect, feature)).toBe('native');
  }
});

test('only forwarded bytes are called native', () => {
  for (const client of dialects) {
    for (const upstream of dialects.filter((name) => name !== client)) {
      for (const feature of features) expect(capability(client, upstream, feature)).not.toBe('native');
    }
  }
});

test("the client's own dialect comes first, and every other one is an option", () => {
  for (const client of dialects) {
    const ranked = rankUpstreams(client, dialects);
    expect(ranked[0]).toBe(client);
    expect([...ranked].sort()).toEqual([...dialects].sort());
    expect(rankUpstreams(client, [])).toEqual([]);
  }
});

test('a dialect that the target does not speak is never chosen', () => {
  expect(rankUpstreams('openai-chat', ['openai-completions', 'anthropic-messages'])).toEqual([
    'anthropic-messages',
    'openai-completions',
  ]);
});
