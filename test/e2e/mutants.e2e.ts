// Would somebody notice if a safeguard were gone? Each of the list is switched off in a copy of the project, one at a time; every
// test file that is named for it must go red, and all of them must be green as things are. The list is the guards, by their marks in the
// code, and many more safeguards, each by a text that its file has once.
//
// PENSTOCK_MUTANTS (default: all) runs those whose name has this text, or whose file begins with it; `guards` runs the guards.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { guards } from '../mutants/guards.ts';
import { findMarks, toMutant } from '../mutants/marks.ts';
import { type Copy, copyProject, mutate } from '../mutants/run-mutant.ts';
import { mutants as quoted } from './mutants/list.ts';
import { openScorecard } from './scorecard.ts';

const root = join(import.meta.dirname, '../..');
const wish = process.env.PENSTOCK_MUTANTS ?? '';
const marked = findMarks();
const ofGuards = guards.map((guard) => toMutant(guard, marked));
const mutants = [...ofGuards, ...quoted];
const chosen =
  wish === 'guards'
    ? ofGuards
    : mutants.filter(({ name, file }) => name.includes(wish) || file.startsWith(wish));
const card = openScorecard('safeguards switched off');

let copy: Copy;
beforeAll(async () => {
  copy = await copyProject();
});
afterAll(async () => {
  card.print();
  await copy?.remove();
});

test('each has a name that no other has, a text that occurs once in its file, and existing tests', () => {
  const names = mutants.map(({ name }) => name);
  expect(names.length - new Set(names).size).toBe(0);
  const stale = mutants.flatMap(({ name, file, from, to, tests }) => {
    const lost = tests.filter((path) => !existsSync(join(root, path)));
    try {
      mutate(readFileSync(join(root, file), 'utf8'), from, to);
      return lost.map((path) => `${name}: ${path} does not exist`);
    } catch (error) {
      return [`${name}: ${file}: ${error}`];
    }
  });
  expect(stale).toEqual([]);
});

test('without a mutant, all of the tests are green', async () => {
  expect(chosen, `no safeguard has a name with "${wish}", or a file that begins with it`).not.toEqual([]);
  const files = [...new Set(chosen.flatMap(({ tests }) => tests))];
  let red = 0;
  for (const file of files) {
    const { verdict, reported } = await copy.test([file]);
    if (verdict === 'green') continue;
    red++;
    process.stderr.write(`${file} is ${verdict}: ${reported}\n`);
  }
  card.add({ what: 'test files that are green as things are', tried: files.length, failed: red });
  expect(red).toBe(0);
});

test.each(chosen)('$name', async (mutant) => {
  let unnoticed = 0;
  const said: string[] = [];
  for (const file of mutant.tests) {
    const { verdict, reported, tookMs } = await copy.testMutant(mutant, file);
    if (verdict !== 'red') unnoticed++;
    said.push(`${verdict} after ${Math.round(tookMs / 1_000)} s: ${reported}`);
  }
  // At once: they are hundreds, and what is broken off in the middle would have reported nothing.
  process.stdout.write(`${unnoticed === 0 ? 'noticed' : 'UNNOTICED'}  ${mutant.name}\n`);
  card.add({
    what: mutant.name,
    tried: mutant.tests.length,
    failed: unnoticed,
    figures: said.join('; ').slice(0, 300),
  });
  expect(unnoticed, said.join('\n')).toBe(0);
});
