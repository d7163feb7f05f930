// Is a CSV read as it was meant, by a spreadsheet too?

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { csvNameOf, csvOf } from '../../../dashboard/pages/words/csv.ts';

test('cells with commas, quotes and line breaks are quoted', () => {
  expect(
    csvOf(
      ['Name', 'Cost'],
      [
        ['a,b', '0.0123'],
        ['say "hi"', null],
        ['two\nlines', 3],
      ],
    ),
  ).toBe('Name,Cost\r\n"a,b",0.0123\r\n"say ""hi""",\r\n"two\nlines",3\r\n');
});

test.each(['=1+1', '+1', '-2+3', '@SUM(A1)', '\t=1', '\r=1', '-1e5'])('%j is not a formula', (text) => {
  expect(csvOf([], [[text]])).toMatch(/^\r\n"?'/);
});

test.each(['-1.50', '0.000000000001', '-3'])('%s stays a number', (text) => {
  expect(csvOf([], [[text]])).toBe(`\r\n${text}\r\n`);
});

test('no text becomes a formula, and each is read back unchanged', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary-ascii' }), (text) => {
      const cell = csvOf([], [[text]]).slice(2, -2);
      const read = cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell;
      if (!/^-?\d+(\.\d+)?$/.test(read)) expect(read).not.toMatch(/^[=+\-@\t\r]/);
      expect(read.replace(/^'/, '')).toBe(text.replace(/^'/, ''));
    }),
  );
});

test('the name of a file says its content and its time', () => {
  expect(csvNameOf('Top models (by spend)', Date.parse('2026-11-27T18:05:59Z'))).toBe(
    'penstock-top-models-by-spend-2026-11-27T18-05Z.csv',
  );
});
