// Are single values put in the place of others in JSON text with every other byte left as it is?

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Replacement, replaceValues, withReplaced } from '../../../gateway/json/replace-values.ts';
import { startCpuTimer } from '../../support/cpu-timer.ts';
import { runs } from '../../support/runs.ts';

function replace(text: string, replacements: readonly Replacement[]): string {
  const bytes = Buffer.from(text).toString('latin1');
  const edits = replaceValues(bytes, replacements).toSorted((a, b) => b.from - a.from);
  const left = edits.reduce(
    (rest, { from, to, text: put }) =>
      rest.slice(0, from) + Buffer.from(put).toString('latin1') + rest.slice(to),
    bytes,
  );
  return Buffer.from(left, 'latin1').toString('utf8');
}

describe('replaceValues', () => {
  test.each<[string, readonly (readonly [Replacement['path'], string])[], string]>([
    ['[1,2,3]', [[[1], '"b"']], '[1,"b",3]'],
    ['[ 1 , 2 ]', [[[1], '{}']], '[ 1 , {} ]'],
    ['{"a":"x","b":2}', [[['a'], '"é"']], '{"a":"é","b":2}'],
    ['{"\\u0061" : "\\"}" }', [[['a'], '1']], '{"\\u0061" : 1 }'],
    ['{"a":1,"a":2}', [[['a'], '3']], '{"a":1,"a":3}'],
    [
      '[{"a":[1,{"b":"x\\\\"}]},1e400]',
      [
        [[0, 'a', 1, 'b'], '""'],
        [[0, 'a', 0], '-0'],
      ],
      '[{"a":[-0,{"b":""}]},1e400]',
    ],
    ['["é😀",{"ü":"漢","x":-0}]', [[[1, 'ü'], '"字"']], '["é😀",{"ü":"字","x":-0}]'],
    ['[1,2]', [[[5], '0']], '[1,2]'],
    ['{"a":1}', [[['b'], '0']], '{"a":1}'],
    ['[]', [[[0, 'a'], '0']], '[]'],
  ])('%s with %j is %s', (text, replacements, wanted) => {
    expect(
      replace(
        text,
        replacements.map(([path, put]) => ({ path, text: put })),
      ),
    ).toBe(wanted);
  });

  test('gives the same as writing the other values, however the text is spaced', () => {
    const entries = fc.array(fc.record({ other: fc.option(fc.jsonValue()), value: fc.jsonValue() }), {
      maxLength: 8,
    });
    fc.assert(
      fc.property(entries, fc.constantFrom('', ' ', '\n\t'), fc.boolean(), (list, indent, isObject) => {
        const build = (values: readonly unknown[]): unknown =>
          isObject ? Object.fromEntries(values.map((value, at) => [`"k${at}`, value])) : values;
        const write = (values: readonly unknown[]): string =>
          JSON.stringify({ first: [1], list: ['a]', build(values)], last: 'x' }, null, indent);
        const replacements = list.flatMap(({ other }, at): Replacement[] =>
          other === null
            ? []
            : [{ path: ['list', 1, isObject ? `"k${at}` : at], text: JSON.stringify(other) }],
        );
        const left = replace(write(list.map(({ value }) => value)), replacements);
        expect(JSON.parse(left)).toEqual(
          JSON.parse(write(list.map(({ other, value }) => (other === null ? value : other)))),
        );
      }),
      { seed: 3, numRuns: runs(2_000) },
    );
  });

  test('many values are put in at once, below a value of many members', () => {
    const others = Object.fromEntries(Array.from({ length: 50_000 }, (_, n) => [`n${n}`, 0]));
    const entries = Array.from({ length: 160_000 }, () => ({ a: 1 }));
    const text = JSON.stringify({ ...others, x: entries });
    const workedMs = startCpuTimer();
    const done = withReplaced(
      text,
      entries.map((_, at) => ({ path: ['x', at, 'a'], text: '2' })),
    );
    // Tens of times what it takes; to go through all for each of them takes a thousand times as long.
    expect(workedMs()).toBeLessThan(10_000);
    expect(done).toBe(JSON.stringify({ ...others, x: entries.map(() => ({ a: 2 })) }));
  });
});
