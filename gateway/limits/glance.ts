// How far are limits used, and would this request be admitted? Computes the result of a reservation without making one.

import { type BudgetVerdict, refusedBudget } from './budget.ts';
import { type LimitState, type Looked, limitStatesOf, type Outcome, refusalOf } from './outcome.ts';
import type { AskedBudget } from './own-budgets.ts';
import type { Subject } from './subject.ts';

/** How much of a limit on requests at a time is in use. */
interface Places {
  readonly subject: Subject;
  readonly limit: number;
  readonly inFlight: number;
}

/** How far one budget is used, in nanodollars (1 USD = 10^9). */
interface BudgetState {
  readonly subject: Subject;
  readonly period: AskedBudget['budget']['period'];
  readonly limit: number;
  /** As far as it is known here. */
  readonly spent: number;
  /** Reserved for requests in flight. */
  readonly held: number;
  /** Unix milliseconds; undefined: the period never ends. */
  readonly endMs: number | undefined;
}

export interface Glance {
  /** The result that a reservation would have. */
  readonly outcome: { readonly type: 'granted' } | Exclude<Outcome, { readonly type: 'granted' }>;
  /** Before it. */
  readonly limitStates: readonly LimitState[];
  readonly places: readonly Places[];
  readonly budgets: readonly BudgetState[];
  /** The number of gateways that share each limit; 1: figures are for the whole installation. */
  readonly pods: number;
}

/** For callers without limits. */
export const nothingLimited: Glance = {
  outcome: { type: 'granted' },
  limitStates: [],
  places: [],
  budgets: [],
  pods: 1,
};

/** The reading of a budget. */
export interface SeenBudget {
  readonly asked: AskedBudget;
  readonly spent: number;
  readonly held: number;
  readonly verdict: BudgetVerdict;
}

export function glanceOf(looked: Looked, budgets: readonly SeenBudget[]): Glance {
  const { seats, wanted, pods } = looked;
  const limitStates = limitStatesOf(looked, false, true);
  return {
    outcome: outcomeOf(),
    limitStates,
    places: seats.flatMap((seat) => {
      const limit = wanted.takesPlace ? seat.placesFor(pods) : undefined;
      return limit === undefined ? [] : [{ subject: seat.subject, limit, inFlight: seat.held }];
    }),
    budgets: budgets.map(({ asked: { subject, budget, limit, own }, spent, held }) => ({
      subject,
      period: budget.period,
      limit,
      spent,
      held,
      endMs: own.bounds.endMs,
    })),
    pods,
  };

  function outcomeOf(): Glance['outcome'] {
    const over = refusedBudget(
      budgets.map(({ asked }) => asked),
      budgets.map(({ verdict }) => verdict),
    );
    if (over !== undefined) {
      const { subject, budget, own } = over.asked;
      return { type: 'over-budget', subject, budget, bounds: own.bounds, isExhausted: over.isExhausted };
    }
    const refusal = refusalOf(looked);
    return refusal === undefined ? { type: 'granted' } : { type: 'refused', ...refusal, limitStates };
  }
}
