// What can be asked for?

import { expect, test } from 'vitest';
import { ledgerRecordSchema } from '../../core/contract/ledger-record.ts';
import { readParameters } from '../../ledger/read-api/parameters.ts';
import { rowOf } from '../../ledger/store/row.ts';
import { makeEntry } from './make-entry.ts';

const { outcome, payer } = ledgerRecordSchema.shape;

test.each([
  ...outcome.options.map((word) => ['outcome', word]),
  ...payer.options.map((word) => ['payer', word]),
])('records whose %s is %s', (name, word) => {
  expect(readParameters(new URLSearchParams([[name, word]]), 0).where).toEqual({ [name]: word });
});

test('a name is searched as it is stored: invalid characters cause no error', () => {
  const { where } = readParameters(new URLSearchParams({ model: 'a\0b', route: 'é'.repeat(400) }), 0);
  expect(where).toEqual({ model: 'a\ufffdb', route: rowOf(makeEntry({ route: 'é'.repeat(400) })).route });
});
