// Does docs/cases.md have a row for every case, and do the test files of each row exist?

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');
const rows = readFileSync(join(root, 'docs/cases.md'), 'utf8')
  .split('\n')
  .filter((line) => /^\| (?!---|\| )/.test(line) && !line.endsWith('| Shown by |'))
  .map((line): [string, string] => {
    const cells = line.split(' | ');
    return [cells.slice(0, -1).join(' ').replace('| ', ''), cells.at(-1) ?? ''];
  });

const upTo = (count: number, prefix = '') => Array.from({ length: count }, (_, at) => `${prefix}${at + 1}`);

/** To take a row off the page, take it off here. */
const cases = [...upTo(21), ...upTo(32, 'T'), ...upTo(43, 'F')];

test('every case has its row', () => {
  const named = rows.map(([name]) => name.split(' ')[0]).filter((name) => /^[TF]?\d+$/.test(name ?? ''));
  expect(named.toSorted()).toEqual(cases.toSorted());
});

test.each(rows)('the row "%s" names test files, and they exist', (_, shownBy) => {
  const files = [...shownBy.matchAll(/`(test\/[^`]+)`/g)].map(([, file = '']) => file);
  expect(files).not.toEqual([]);
  expect(files.filter((file) => !existsSync(join(root, file)))).toEqual([]);
});
