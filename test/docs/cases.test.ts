// Is every case of docs/cases.md shown by tests that there are? Each row names files, and after each file the names of its tests.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');
const rows = readFileSync(join(root, 'docs/cases.md'), 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('| ') && line.includes('`test/'))
  .map((line): [string, string] => {
    const cells = line.split(' | ');
    return [cells.slice(0, -1).join(' ').replace('| ', ''), cells.at(-1) ?? ''];
  });

/** All that is to be shown; a row that is taken off the page has to be taken off here. */
const cases = Array.from({ length: 21 }, (_, index) => String(index + 1));
const threats = [
  ...['T1', 'T2', 'T3', 'T4', 'T5', 'T6', 'T7', 'T8', 'T9', 'T10', 'T11', 'T12'],
  ...['T13', 'T14', 'T15', 'T16', 'T17', 'T18', 'T19', 'T20', 'T21', 'T22', 'T23', 'T24'],
  ...['T25', 'T26', 'T27', 'T28'],
  ...['T29', 'T30', 'T31', 'T32'],
];
const faults = [
  ...['F1', 'F2', 'F3', 'F4', 'F5', 'F6', 'F7', 'F8', 'F9', 'F10', 'F11', 'F12'],
  ...['F13', 'F14', 'F15', 'F16', 'F17', 'F18', 'F19', 'F20', 'F21', 'F22', 'F23', 'F24'],
  ...['F25', 'F26', 'F27', 'F28', 'F29', 'F30', 'F31', 'F32', 'F33', 'F34', 'F35', 'F36'],
  ...['F37', 'F38', 'F39', 'F40', 'F41', 'F42', 'F43'],
];

test('every case has its row', () => {
  const named = rows.map(([name]) => name.split(' ')[0]).filter((name) => /^[TF]?\d+$/.test(name ?? ''));
  expect(named.toSorted()).toEqual([...cases, ...threats, ...faults].toSorted());
});

describe.each(rows)('%s', (_, shownBy) => {
  const claims = [...shownBy.matchAll(/`(test\/[^`]+)`((?: "[^"]+")+)/g)].flatMap(
    ([, file = '', names = '']) =>
      [...names.matchAll(/"([^"]+)"/g)].map(([, name = '']) => [file, name] as const),
  );

  test('names a test', () => {
    expect(claims.length).toBeGreaterThan(0);
    expect(shownBy.match(/`test\//g)).toHaveLength(new Set(claims.map(([file]) => file)).size);
  });

  test.each(claims)('%s has the test "%s"', (file, name) => {
    expect(existsSync(join(root, file))).toBe(true);
    const source = readFileSync(join(root, file), 'utf8');
    for (const part of name.split(' > ')) {
      expect([part, ["'", '`'].some((quote) => source.includes(`${quote}${part}${quote}`))]).toEqual([
        part,
        true,
      ]);
    }
  });
});
