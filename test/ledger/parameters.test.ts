// What can be asked for?

import { expect, test } from 'vitest';
import { ledgerRecordSchema } from '../../gateway/contract/ledger-record.ts';
import { readParameters } from '../../ledger/read-api/parameters.ts';

const { outcome, payer } = ledgerRecordSchema.shape;

test.each([
  ...outcome.options.map((word) => ['outcome', word]),
  ...payer.options.map((word) => ['payer', word]),
])('records whose %s is %s', (name, word) => {
  expect(readParameters(new URLSearchParams([[name, word]]), 0).where).toEqual({ [name]: word });
});
