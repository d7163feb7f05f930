// Would somebody notice if a safeguard were gone? Here only that each row of the list still means something, and that two of them
// are noticed; `npm run e2e -- mutants` runs them all.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { mutants } from './list.ts';
import { type Copy, copyProject, mutate } from './run-mutant.ts';

const root = join(import.meta.dirname, '../..');

test.each(mutants)(
  '$name: it stands in its file once, and its tests are there',
  ({ file, from, to, tests }) => {
    expect(mutate(readFileSync(join(root, file), 'utf8'), from, to)).toContain(to);
    expect(tests.filter((path) => !existsSync(join(root, path)))).toEqual([]);
    expect(tests.length).toBeGreaterThan(0);
  },
);

test('each has a name of its own', () => {
  const names = mutants.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
});

test.each([
  'the guard',
  'compare-and-swap',
  'terminal marker',
  'back-pressure',
  'the breaker opens',
  'the commit point',
  'a credential goes to the hosts it is bound to',
])('%s is among them', (safeguard) => {
  expect(mutants.filter(({ name }) => name.startsWith(safeguard))).not.toEqual([]);
});

test.each([
  ['is not there', 'a b', 'c'],
  ['is there twice', 'a b a', 'a'],
])('a text that %s cannot be taken away', (_, text, from) => {
  expect(() => mutate(text, from, 'x')).toThrow('times: ');
});

describe('switched off', () => {
  let copy: Copy;
  beforeAll(async () => {
    copy = await copyProject();
  });
  afterAll(() => copy?.remove());

  const quick = mutants.filter(({ isQuick }) => isQuick);
  test('two are looked at', () => expect(quick).toHaveLength(2));

  test.each(quick)('$name: a test goes red', { timeout: 120_000 }, async (mutant) => {
    for (const file of mutant.tests) {
      const { verdict, told } = await copy.testMutant(mutant, file);
      expect(verdict, told).toBe('red');
    }
  });

  test('as it is, the same tests are green', { timeout: 120_000 }, async () => {
    const { verdict, told } = await copy.test(quick.flatMap(({ tests }) => tests));
    expect(verdict, told).toBe('green');
  });
});
