// Do the rows of sums have all columns that are written? Pure.

import { expect, test } from 'vitest';
import { sumUpserts, valuesOf } from '../../../ledger/store/add-queries.ts';
import { rollUp } from '../../../ledger/store/roll-up.ts';
import { rowOf } from '../../../ledger/store/row.ts';
import { makeEntry } from '../make-entry.ts';

test('each row of each table of sums has every column of it', () => {
  const sums = rollUp([{ ...rowOf(makeEntry()), sequence: 1 }]);
  for (const { columns, rowsOf } of sumUpserts(() => '')) {
    const rows = rowsOf(sums);
    expect(rows.length).toBeGreaterThan(0);
    expect(rows.map((row) => valuesOf(row, columns).length)).toEqual(rows.map(() => columns.length));
  }
});

test('a missing column is an error with its name, and not a sum of nothing', () => {
  expect(() => valuesOf({ day: '2026-11-16', cost_high: 0 }, ['day', 'cost_high', 'cost_low'])).toThrow(
    "a row of sums has no 'cost_low'",
  );
});
