// Is what is known always what the ledger said last, of the period that now is in?

import { expect, test } from 'vitest';
import { createSpendBook, useIn } from '../../../operator/usage/spend-book.ts';
import { AT_MS, makePage, makeSpent } from './make-spent.ts';

const entry = (apiKey: string, micros: number) => ({ apiKey, ...makeSpent({ micros }) });
const costOf = (spent: ReturnType<typeof makeSpent> | undefined) => spent?.total.costPicodollars;

test('it is complete once the ledger has no more pages, and continues after the last one', () => {
  const book = createSpendBook();
  book.take(makePage({ keys: [entry('a/one', 1)], sequence: 1, hasMore: true }));
  expect([book.isWhole(), book.after()]).toEqual([false, 1]);
  const namespaces = [{ namespace: 'a', ...makeSpent({ micros: 3 }) }];
  const news = book.take(makePage({ keys: [entry('a/two', 2)], namespaces, sequence: 2 }));
  expect(news).toEqual({ type: 'changed', keys: ['a/two'], namespaces: ['a'] });
  expect([book.isWhole(), book.after()]).toEqual([true, 2]);
  book.take(makePage({ keys: [entry('a/one', 5)], sequence: 3 }));
  expect([costOf(book.ofKey('a/one')), costOf(book.ofKey('a/two')), costOf(book.ofNamespace('a'))]).toEqual([
    '5000000',
    '2000000',
    '3000000',
  ]);
  expect(book.ofKey('a/none')).toBeUndefined();
});

test.each([
  ['another ledger in its place', { ledger: 'two', sequence: 9 }],
  ['the same one, put back to an older state', { sequence: 0, hasMore: true }],
])('%s is read from its beginning, and the figures of the other are forgotten', (_, answer) => {
  const book = createSpendBook();
  book.take(makePage({ keys: [entry('a/one', 1)], sequence: 2 }));
  expect(book.take(makePage({ ...answer, keys: [entry('a/two', 2)] }))).toEqual({ type: 'again' });
  expect([book.isWhole(), book.after(), book.ofKey('a/one'), book.ofKey('a/two')]).toEqual([
    false,
    0,
    undefined,
    undefined,
  ]);
  expect(book.take(makePage({ ledger: 'two', sequence: 1 })).type).toBe('changed');
  expect(book.isWhole()).toBe(true);
});

test('use of a past period counts for the total alone', () => {
  const spent = makeSpent({ micros: 7 });
  const tomorrow = AT_MS + 86_400_000;
  // 2026-11-22 is a Sunday, so a week ends with it too.
  const used = (nowMs: number) =>
    (['Day', 'Week', 'Month', 'Total'] as const).map((period) => useIn(spent, period, nowMs).requests);
  expect(used(AT_MS)).toEqual([1, 1, 1, 1]);
  expect(used(tomorrow)).toEqual([0, 0, 1, 1]);
  expect(used(Date.UTC(2026, 11, 1))).toEqual([0, 0, 0, 1]);
  // The ledger is in the new day already.
  expect(useIn(makeSpent({ atMs: tomorrow }), 'Day', AT_MS).requests).toBe(1);
  expect(useIn(undefined, 'Total', AT_MS).requests).toBe(0);
});
