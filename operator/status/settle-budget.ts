// What is to be said of the budgets of an ApiKey? BudgetExhausted while one refuses calls, and nothing else.

import type { Condition } from '../compile/verdict.ts';
import { type Exhausted, sayExhausted, tellsTheSame } from '../usage/exhausted.ts';
import type { ObjectStatus } from './object-status.ts';

/** @param exhausted undefined until the ledger has answered in this term: then the present condition is kept. */
export function settleBudget(
  exhausted: readonly Exhausted[] | undefined,
  present: ObjectStatus | undefined,
): Condition | undefined {
  const before = present?.conditions?.find(({ type }) => type === 'BudgetExhausted');
  if (exhausted === undefined) return before && say(before.message);
  if (exhausted.length === 0) return undefined;
  const message = exhausted.map(sayExhausted).join('; ');
  // The usage shows spend beyond the limit; the condition is not rewritten for it.
  return say(before !== undefined && tellsTheSame(before.message, message) ? before.message : message);
}

function say(message: string): Condition {
  return { type: 'BudgetExhausted', status: 'True', reason: 'BudgetExhausted', message };
}
