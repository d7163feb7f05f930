// How do limits stand, and would this request pass, where nothing is asked for? What a reservation would find and be told, and none is made.

import { type AskedBudget, type BudgetVerdict, judgeShare, judgeTogether, refusedBudget } from './budget.ts';
import { type Judged, type Outcome, refusalOf, type Standing, standingsOf } from './outcome.ts';
import { type BudgetReading, isGranted, type Reading, type ReservationAnswer } from './reservation.ts';
import type { Subject } from './subject.ts';

/** How much of a limit on requests at a time is in use. */
interface Places {
  readonly subject: Subject;
  readonly limit: number;
  readonly underWay: number;
}

/** How far one budget is used, in nanodollars (1 USD = 10^9). */
interface BudgetStanding {
  readonly subject: Subject;
  readonly period: AskedBudget['budget']['period'];
  readonly limit: number;
  /** As far as it is known here. */
  readonly spent: number;
  /** Reserved for requests that are under way. */
  readonly held: number;
  /** Unix milliseconds; undefined: the period never ends. */
  readonly endMs: number | undefined;
}

export interface Glance {
  /** What a reservation would come to. */
  readonly outcome: { readonly type: 'granted' } | Exclude<Outcome, { readonly type: 'granted' }>;
  /** Before it. */
  readonly standings: readonly Standing[];
  readonly places: readonly Places[];
  readonly budgets: readonly BudgetStanding[];
  /** So many gateways share each of the limits; 1: they are told as a whole. */
  readonly pods: number;
}

/** Of whoever has no limit. */
export const nothingLimited: Glance = {
  outcome: { type: 'granted' },
  standings: [],
  places: [],
  budgets: [],
  pods: 1,
};

/** What was read of limits and budgets, in the order of what was asked. */
export interface Sight {
  readonly judged: readonly Judged[];
  readonly nowMs: number;
  readonly readings: readonly Reading[];
  readonly budgets: readonly {
    readonly asked: AskedBudget;
    readonly spent: number;
    readonly held: number;
    readonly verdict: BudgetVerdict;
  }[];
  readonly pods: number;
}

type SeenBudget = Sight['budgets'][number];

/** Of a store that all gateways share. */
export function sightTogether(
  judged: readonly Judged[],
  budgets: readonly AskedBudget[],
  { nowMs, readings, budgets: found = [] }: ReservationAnswer,
): Sight {
  return {
    judged,
    nowMs,
    readings,
    budgets: budgets.map((asked, at): SeenBudget => {
      const reading = found[at] ?? { spent: 0, held: 0 };
      const spent = Math.max(reading.spent, reading.reckoned ?? 0);
      return { asked, spent, held: reading.held, verdict: judgeTogether(asked.claim, reading) };
    }),
    pods: 1,
  };
}

/** Of this gateway alone. */
export function sightOfShare(asked: AskedBudget, own: BudgetReading, pods: number): SeenBudget {
  const verdict = judgeShare(asked.claim, own, pods);
  return { asked, spent: asked.claim.known + own.spent, held: own.held, verdict };
}

export function glanceOf({ judged, nowMs, readings, budgets, pods }: Sight): Glance {
  const claims = judged.map(({ claim }) => claim);
  const answer = { isGranted: false, nowMs, readings };
  const standings = standingsOf(judged, answer);
  return {
    outcome: outcomeOf(),
    standings,
    places: judged.flatMap(({ subject, claim: { placesMax } }, at) =>
      placesMax === undefined ? [] : [{ subject, limit: placesMax, underWay: readings[at]?.held ?? 0 }],
    ),
    budgets: budgets.map(({ asked: { subject, budget, claim }, spent, held }) => ({
      subject,
      period: budget.period,
      limit: claim.limit,
      spent,
      held,
      endMs: claim.endMs,
    })),
    pods,
  };

  function outcomeOf(): Glance['outcome'] {
    const over = refusedBudget(
      budgets.map(({ asked }) => asked),
      budgets.map(({ verdict }) => verdict),
    );
    if (over !== undefined) {
      const { subject, budget, bounds } = over.asked;
      return { type: 'over-budget', subject, budget, bounds, isExhausted: over.isExhausted };
    }
    if (isGranted(claims, readings)) return { type: 'granted' };
    const refusal = refusalOf(judged, answer);
    return refusal === undefined ? { type: 'granted' } : { type: 'refused', ...refusal, standings };
  }
}
