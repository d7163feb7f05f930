// What can be carried, and how is it reported? The table of the gateway decides; these sentences are about what we make of it.

import { describe, expect, test } from 'vitest';
import { apisInOrder, dialectOfApi } from '../../../core/catalog/dialects.ts';
import { PROVIDER_TYPES } from '../../../core/catalog/provider-types.ts';
import { describePairings } from '../../../operator/compile/describe-pairings.ts';
import { pairUp } from '../../../operator/compile/dialects.ts';
import { apiSchema } from '../../../operator/resources/fields.ts';

const target = (name: string, ...apis: (typeof apisInOrder)[number][]) => ({ name, apis });

describe('a client dialect at a target', () => {
  test('every dialect of the API has a name and an order in the table', () => {
    expect([...apisInOrder].sort()).toEqual([...apiSchema.options].sort());
    expect(new Set(Object.values(dialectOfApi)).size).toBe(apiSchema.options.length);
  });

  test.each(apisInOrder)('%s is native if the target speaks it, whatever else it speaks', (api) => {
    const pairing = pairUp(api, target('main', ...apisInOrder), ['Tools', 'Vision']);
    expect(pairing).toMatchObject({ upstream: api, isNative: true, lost: [], refused: [], unmet: [] });
  });

  test.each(
    apisInOrder.flatMap((api) =>
      apisInOrder
        .filter((upstream) => upstream !== api && upstream !== 'Completions')
        .map((upstream) => [api, upstream] as const),
    ),
  )('%s through %s carries all that a model can do', (api, upstream) => {
    const declared = ['Streaming', 'Tools', 'Vision', 'Reasoning', 'PromptCaching'] as const;
    const pairing = pairUp(api, target('main', upstream), declared);
    expect(pairing).toMatchObject({ upstream, isNative: false, lost: [], refused: [], unmet: [] });
  });

  test.each([
    ['nothing was declared', [], ['tools', 'images', 'structured output'], ['reasoning'], []],
    ['it streams only', ['Streaming'], ['structured output'], [], []],
    ['it has tools', ['Tools'], ['tools', 'structured output'], [], ['Tools']],
    ['it sees', ['Vision'], ['images', 'structured output'], [], ['Vision']],
    ['it reasons', ['Reasoning'], ['structured output'], ['reasoning'], []],
  ] as const)('Messages through Completions, where %s', (_where, declared, refused, lost, unmet) => {
    expect(pairUp('Messages', target('main', 'Completions'), declared)).toMatchObject({
      refused,
      lost,
      unmet,
    });
  });
});

describe('the message about many pairs', () => {
  const names = Array.from({ length: 16 }, (_, at) => `${String(at).padStart(2, '0')}-${'x'.repeat(60)}`);

  test('names four of many targets with the same verdict', () => {
    const line = describePairings(names.map((name) => pairUp('Messages', target(name, 'Responses'), [])));
    expect(line).toContain(`${names[3]} and 12 more (Responses): translated`);
    expect(line).not.toContain(names[4]);
  });

  test('stays short, and refused fields are not cut', () => {
    const pairings = names.flatMap((name, at) =>
      apisInOrder.map((api) => {
        // Each target differs from its neighbours, so that none stand together.
        const spoken = apisInOrder.filter((_, bit) => ((at % 15) + 1) & (1 << bit));
        return pairUp(api, target(name, ...spoken), []);
      }),
    );
    const line = describePairings(pairings.filter(({ isNative }) => !isNative));
    expect(line.length).toBeLessThan(1024);
    expect(line).toMatch(/^ChatCompletions, Responses and Messages at target .* are impossible/);
    expect(line).toMatch(/; and \d+ more$/);
  });
});

describe('a type of provider', () => {
  test('Anthropic sends its key bare, in its own header, and uses Messages', () => {
    expect(PROVIDER_TYPES.Anthropic).toMatchObject({
      baseUrl: 'https://api.anthropic.com/v1',
      apis: ['Messages'],
      header: { name: 'x-api-key', prefix: '' },
    });
  });
});
