// What does a gateway remember of its own spend while no ledger tells of it?

import { expect, test } from 'vitest';
import { OwnBudgets } from '../../../gateway/limits/own-budgets.ts';

const key = 'api-key:team-a/bot:Month:2026-11-01';

/** One request, of which the journal has so many records then. */
function spend(own: OwnBudgets, cost: number, recordsBefore: number): void {
  const claim = { key, limit: 1e12, known: 0, own: own.read(key), amount: cost, endMs: undefined };
  own.hold(claim);
  own.settle(claim, cost, recordsBefore);
}

test('what was spent is forgotten as soon as the ledger has its records, and not before', () => {
  const own = new OwnBudgets();
  for (const records of [1, 2, 2, 3]) spend(own, 10, records);
  own.see(1);
  expect(own.read(key).spent).toBe(30);
  own.see(2);
  expect(own.read(key).spent).toBe(10);
  own.see(3);
  expect(own.read(key).spent).toBe(0);
});

test('however long the ledger is away, what waits for it is bounded, and nothing is forgotten before it was seen', () => {
  const own = new OwnBudgets();
  const requests = 100_000;
  for (let records = 1; records <= requests; records++) spend(own, 10, records);
  expect(own.unseenSize).toBeLessThanOrEqual(10_000);
  expect(own.read(key).spent).toBe(10 * requests);
  for (const seen of [1, 5_000, requests - 1, requests]) {
    own.see(seen);
    expect(own.read(key).spent).toBeGreaterThanOrEqual(10 * (requests - seen));
  }
  expect([own.read(key).spent, own.unseenSize]).toEqual([0, 0]);
  // Each has an entry of its own again.
  for (const records of [1, 2]) spend(own, 10, requests + records);
  own.see(requests + 1);
  expect(own.read(key).spent).toBe(10);
});
