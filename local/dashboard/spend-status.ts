// What does the status of an ApiKey say about spend? What the ledger here knows by now, and which budgets refuse calls for it.

import type { Spent } from '../../core/contract/spend.ts';
import type { Condition } from '../../operator/compile/verdict.ts';
import { type ApiKeyUsage, budgetsIn } from '../../operator/resources/api-key.ts';
import { exhaustedOf, sayExhausted } from '../../operator/usage/exhausted.ts';
import { describeUsage } from '../../operator/usage/settle-usage.ts';

export interface SpendStatus {
  readonly usage?: Omit<ApiKeyUsage, 'observedAt'>;
  readonly conditions: readonly Condition[];
}

/** There is one. */
const gateways = { ready: 1, haveStore: false };

/** @param spent Undefined: never used. */
export function spendStatusOf(spec: unknown, spent: Spent | undefined, nowMs: number): SpendStatus {
  const budgets = budgetsIn(spec);
  if (spent === undefined && budgets.length === 0) return { conditions: [] };
  // Of this second: a time that is always another one would be a change of every key.
  const { observedAt: _, ...usage } = describeUsage({ budgets, spent, gateways, nowMs });
  const exhausted = exhaustedOf(budgets, spent, nowMs);
  const message = exhausted.map(sayExhausted).join('; ');
  const reason = 'BudgetExhausted';
  return {
    usage,
    conditions: exhausted.length === 0 ? [] : [{ type: reason, status: 'True', reason, message }],
  };
}
