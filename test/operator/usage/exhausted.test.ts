// Does a status say which budget refuses calls, from when it does until it begins again, and no longer?

import { expect, test } from 'vitest';
import { eventsFor } from '../../../operator/status/events.ts';
import { type BudgetLimit, exhaustedOf } from '../../../operator/usage/exhausted.ts';
import { apiKey } from '../make.ts';
import { judge, look, NOW_MS, say, withStatus, written } from '../status/status-support.ts';
import { makeSpent } from './make-spent.ts';

const limit = (more: Partial<BudgetLimit> = {}): BudgetLimit => ({
  period: 'Month',
  limit: '100.00',
  action: 'Block',
  ...more,
});
const spentMicros = (micros: number) => makeSpent({ micros, atMs: NOW_MS });

test.each<[string, Partial<BudgetLimit>, number, boolean]>([
  ['at its limit', {}, 100_000_000, true],
  ['a millionth below it', {}, 99_999_999, false],
  ['above it, where it only warns', { action: 'Warn' }, 200_000_000, false],
  ['of nothing at all', { limit: '0' }, 0, true],
])('a budget %s', (_, more, micros, isExhausted) => {
  expect(exhaustedOf([limit(more)], spentMicros(micros), NOW_MS)).toHaveLength(isExhausted ? 1 : 0);
});

const object = apiKey({}, {});
const verdict = judge('ApiKey', { apiKeys: [object] });
const exhaustedBy = (micros: number, limits = [limit()]) => exhaustedOf(limits, spentMicros(micros), NOW_MS);

test('the condition names the period, the limit, the spend and the reset, and Ready stays', () => {
  const decision = look(object, verdict, { exhausted: exhaustedBy(100_020_000) });
  const status = written(decision);
  expect(say(status, 'BudgetExhausted')).toBe(
    'True BudgetExhausted: Monthly budget used up: $100.02 of $100.00 since 2026-06-01. Calls are refused until 2026-07-01T00:00:00Z, or until spec.budgets allows more',
  );
  const ready = look(object, verdict, { exhausted: [] });
  expect(say(status, 'Ready')).toBe(say(written(ready), 'Ready'));
  expect(eventsFor(decision.type === 'write' ? decision.transitions : [])).toContainEqual(
    expect.objectContaining({ type: 'Warning', reason: 'BudgetExhausted', action: 'Meter' }),
  );
});

test('for the period Total it has the remedy', () => {
  const exhausted = exhaustedBy(500_000_000, [limit({ period: 'Total' })]);
  expect(say(written(look(object, verdict, { exhausted })), 'BudgetExhausted')).toContain(
    'Total budget used up: $500.00 of $100.00. Calls are refused until spec.budgets allows more',
  );
});

test('spend of calls in flight causes no second write; another limit does', () => {
  const exhausted = written(look(object, verdict, { exhausted: exhaustedBy(100_020_000) }));
  const present = withStatus(object, exhausted);
  expect(look(present, verdict, { exhausted: exhaustedBy(101_000_000) }).type).not.toBe('write');
  const lower = look(present, verdict, { exhausted: exhaustedBy(101_000_000, [limit({ limit: '99' })]) });
  expect(say(written(lower), 'BudgetExhausted')).toContain('$101.00 of $99 since');
});

test('it ends with the period, and stays while the spend is unknown', () => {
  const exhausted = written(look(object, verdict, { exhausted: exhaustedBy(100_020_000) }));
  const present = withStatus(object, exhausted);
  expect(look(present, verdict, { exhausted: undefined }).type).not.toBe('write');
  expect(say(written(look(present, verdict, { exhausted: [] })), 'BudgetExhausted')).toBeUndefined();
});
