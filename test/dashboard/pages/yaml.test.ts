// Is what the pages write as YAML read as the same object?

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { type Plain, toYaml } from '../../../dashboard/pages/words/yaml.ts';

const plain = fc.letrec<{ value: Plain }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.string({ unit: 'binary' }),
    fc.constantFrom(
      '',
      ' ',
      '- a',
      'a: b',
      '#x',
      'true',
      'No',
      '1.0',
      '1e3',
      '0x1',
      '~',
      'null',
      '2026-11-23',
      'a #b',
      '"',
      "'",
      'a\nb',
      '*',
      '@x',
      '100.00',
      'psk_…9f3a',
    ),
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.string({ minLength: 1 }), tie('value'), { maxKeys: 4 }),
  ),
})).value;

test.each(['1.1', '1.2'] as const)('any object is read back as it was, by readers of YAML %s', (version) => {
  fc.assert(
    fc.property(
      fc.array(fc.dictionary(fc.string({ minLength: 1 }), plain, { minKeys: 1, maxKeys: 4 }), {
        minLength: 1,
        maxLength: 3,
      }),
      (objects) => {
        const documents = parseAllDocuments(toYaml(objects), { version });
        expect(documents).not.toHaveProperty('empty', true);
        const read = Array.isArray(documents) ? documents.map((document) => document.toJS()) : [];
        expect(JSON.parse(JSON.stringify(read))).toEqual(JSON.parse(JSON.stringify(objects)));
      },
    ),
    { numRuns: 300 },
  );
});

describe('the YAML of the pages', () => {
  test('has lists of objects, text without needless quotes, amounts in quotes', () => {
    const text = toYaml([
      {
        kind: 'ApiKey',
        metadata: { name: 'bot', namespace: 'team-a' },
        spec: {
          disabled: false,
          budgets: [{ period: 'Month', limit: '100.00' }],
          models: { allow: ['llama', 'own/*'] },
          nothing: undefined,
        },
      },
    ]);
    expect(text).toBe(`kind: ApiKey
metadata:
  name: bot
  namespace: team-a
spec:
  disabled: false
  budgets:
    - period: Month
      limit: "100.00"
  models:
    allow:
      - llama
      - "own/*"
`);
  });

  test('separates several objects', () => {
    expect(toYaml([{ a: 1 }, { b: [] }])).toBe('a: 1\n---\nb: []\n');
  });
});
