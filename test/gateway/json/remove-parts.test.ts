// Are single values taken out of JSON text with every other byte left as it is?

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Path } from '../../../gateway/json/read-parts.ts';
import { removeParts } from '../../../gateway/json/remove-parts.ts';
import { startCpuTimer } from '../../support/cpu-timer.ts';
import { runs } from '../../support/runs.ts';

function remove(text: string, paths: readonly Path[]): string {
  const bytes = Buffer.from(text).toString('latin1');
  const edits = removeParts(bytes, paths).toSorted((a, b) => b.from - a.from);
  const left = edits.reduce(
    (rest, { from, to, text: put }) => rest.slice(0, from) + put + rest.slice(to),
    bytes,
  );
  return Buffer.from(left, 'latin1').toString('utf8');
}

describe('removeParts', () => {
  test.each<[string, readonly Path[], string]>([
    ['[1,2,3]', [[0]], '[2,3]'],
    ['[1,2,3]', [[1]], '[1,3]'],
    ['[1,2,3]', [[2]], '[1,2]'],
    ['[1,2,3]', [[0], [1]], '[3]'],
    ['[1,2,3]', [[1], [2]], '[1]'],
    ['[1,2,3]', [[0], [2]], '[2]'],
    ['[1,2,3]', [[0], [1], [2]], '[]'],
    ['[1,2,3,4,5]', [[1], [3]], '[1,3,5]'],
    ['[ 1 , 2 , 3 ]', [[1]], '[ 1 , 3 ]'],
    ['[ 1 , 2 , 3 ]', [[0]], '[ 2 , 3 ]'],
    ['[\n  1\n]', [[0]], '[\n  \n]'],
    ['{"a":1,"b":2}', [['a']], '{"b":2}'],
    ['{"a":1,"b":2}', [['b']], '{"a":1}'],
    ['{"a":1}', [['a']], '{}'],
    ['{"a" : "}]," , "b" : [ "\\"]" ] }', [['a']], '{"b" : [ "\\"]" ] }'],
    ['{"\\u0061":1,"b":2}', [['a']], '{"b":2}'],
    ['{"a":1,"a":2}', [['a']], '{"a":1}'],
    ['[{"a":[1,{"b":[]},"\\\\"]},1e400]', [[0, 'a', 1]], '[{"a":[1,"\\\\"]},1e400]'],
    [
      '[{"a":[1,2]},{"a":[3]}]',
      [
        [0, 'a', 1],
        [1, 'a', 0],
      ],
      '[{"a":[1]},{"a":[]}]',
    ],
    ['[{"a":[1,2]},{"a":[3]}]', [[0, 'a', 0], [1]], '[{"a":[2]}]'],
    ['["é😀",{"ü":"漢","x":-0}]', [[1, 'ü']], '["é😀",{"x":-0}]'],
    ['[1,2]', [[5]], '[1,2]'],
    ['{"a":1}', [['b']], '{"a":1}'],
  ])('%s without %j is %s', (text, paths, wanted) => {
    expect(remove(text, paths)).toBe(wanted);
  });

  test('gives the same as leaving them out before writing, however the text is spaced', () => {
    const entries = fc.array(fc.record({ isGone: fc.boolean(), value: fc.jsonValue() }), { maxLength: 8 });
    fc.assert(
      fc.property(entries, fc.constantFrom('', ' ', '\n\t'), fc.boolean(), (list, indent, isObject) => {
        const named = list.map((entry, at) => ({ ...entry, at, name: `"k${at}` }));
        const build = (kept: typeof named): unknown =>
          isObject
            ? Object.fromEntries(kept.map(({ name, value }) => [name, value]))
            : kept.map(({ value }) => value);
        const gone = named.filter(({ isGone }) => isGone);
        const paths = gone.map(({ at, name }): Path => ['list', 1, isObject ? name : at]);
        const write = (kept: typeof named): string =>
          JSON.stringify({ first: [1], list: ['a]', build(kept)], last: 'x' }, null, indent);
        const left: unknown = JSON.parse(remove(write(named), paths));
        expect(left).toEqual(JSON.parse(write(named.filter(({ isGone }) => !isGone))));
      }),
      { seed: 2, numRuns: runs(2_000) },
    );
  });

  test('many values go at once, below a value of many members', () => {
    const others = Object.fromEntries(Array.from({ length: 50_000 }, (_, n) => [`n${n}`, 0]));
    const entries = Array.from({ length: 160_000 }, () => ({ a: 1 }));
    const text = JSON.stringify({ ...others, x: entries });
    const workedMs = startCpuTimer();
    const edits = removeParts(
      text,
      entries.map((_, at) => ['x', at, 'a']),
    );
    // Tens of times what it takes; to go through all for each of them takes a thousand times as long.
    expect(workedMs()).toBeLessThan(10_000);
    const ordered = edits.toSorted((a, b) => a.from - b.from);
    const kept = ordered.map(({ from }, at) => text.slice(ordered[at - 1]?.to ?? 0, from));
    expect(kept.join('') + text.slice(ordered.at(-1)?.to)).toBe(
      JSON.stringify({ ...others, x: entries.map(() => ({})) }),
    );
  });
});
