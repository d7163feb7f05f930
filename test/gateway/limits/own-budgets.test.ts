// What does a gateway remember of its own spend while no ledger tells of it?

import { expect, test } from 'vitest';
import type { Budget } from '../../../core/contract/budget.ts';
import { OwnBudgets } from '../../../gateway/limits/own-budgets.ts';

const budget: Budget = { period: 'Month', limitMicrodollars: 1e9 };
const subject = { kind: 'api-key' as const, id: 'team-a/bot', limits: {}, budgets: [budget] };

const asked = (own: OwnBudgets) => own.askedOf(subject, Date.UTC(2026, 10, 27));

const spentOf = (own: OwnBudgets): number | undefined => asked(own)[0]?.own.spent;

/** One request, of which the journal has so many records then. */
function spend(own: OwnBudgets, cost: number, recordsBefore: number): void {
  own.hold(asked(own), cost);
  own.settle(asked(own), cost, cost, recordsBefore);
}

test('own spend is forgotten as soon as the ledger has its records, and not before', () => {
  const own = new OwnBudgets();
  for (const records of [1, 2, 2, 3]) spend(own, 10, records);
  own.see(1);
  expect(spentOf(own)).toBe(30);
  own.see(2);
  expect(spentOf(own)).toBe(10);
  own.see(3);
  expect(spentOf(own)).toBe(0);
});

test('during any outage of the ledger own spend takes bounded memory, and none is forgotten before the ledger has it', () => {
  const own = new OwnBudgets();
  const requests = 100_000;
  for (let records = 1; records <= requests; records++) spend(own, 10, records);
  expect(own.unseenSize).toBeLessThanOrEqual(10_000);
  expect(spentOf(own)).toBe(10 * requests);
  for (const seen of [1, 5_000, requests - 1, requests]) {
    own.see(seen);
    expect(spentOf(own)).toBeGreaterThanOrEqual(10 * (requests - seen));
  }
  expect([spentOf(own), own.unseenSize]).toEqual([0, 0]);
  // Each has an entry of its own again.
  for (const records of [1, 2]) spend(own, 10, requests + records);
  own.see(requests + 1);
  expect(spentOf(own)).toBe(10);
});
