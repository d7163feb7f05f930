// Does the code still have every safeguard that must never be lost? Here only the marks; `npm run e2e -- mutants` switches each guard off
// and sees its tests fail.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { guards } from './guards.ts';
import { findMarks, readMarks, toMutant, unknownNames } from './marks.ts';

const root = join(import.meta.dirname, '../..');
const marked = findMarks();

test.each(guards)('guard $mark has its mark in the code, and its tests exist: $name', (guard) => {
  const { file, from, to, tests } = toMutant(guard, marked);
  expect(to).not.toBe(from);
  expect(unknownNames(to, readFileSync(join(root, file), 'utf8'))).toEqual([]);
  expect(tests.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  expect(tests.length).toBeGreaterThan(0);
});

test('every mark in the code has one guard', () => {
  expect(marked.map(({ mark }) => mark).toSorted()).toEqual(guards.map(({ mark }) => mark).toSorted());
});

const source = 'if (isLate) stop(); // guard: late\n  // guard: full\n  if (n > 1) wait(n);\n';
const guard = { mark: 'late', name: 'late is refused', to: '', tests: [] };

test('a mark at the end of a line, or above it, marks that line', () => {
  const found = readMarks('a.ts', source);
  expect(found.map(({ mark, code }) => [mark, code])).toEqual([
    ['late', 'if (isLate) stop();'],
    ['full', '  if (n > 1) wait(n);'],
  ]);
  expect(toMutant(guard, found)).toMatchObject({ from: 'if (isLate) stop(); // guard: late', to: '' });
  expect(toMutant({ ...guard, mark: 'full', to: 'if (n > 9) wait(n);' }, found)).toMatchObject({
    from: '  // guard: full\n  if (n > 1) wait(n);',
    to: 'if (n > 9) wait(n);',
  });
});

test.each([
  ['a mark that is gone', { ...guard, mark: 'gone' }, source, 'It is there 0 times'],
  ['a mark that is there twice', guard, `${source}${source}`, 'It is there 2 times'],
])('%s is reported', (_, row, text, message) => {
  expect(() => toMutant(row, readMarks('a.ts', text))).toThrow(message);
});

test('a name that the file does not have is reported', () => {
  expect(unknownNames("if (n > limit) wait('so long');", source)).toEqual(['limit']);
});
