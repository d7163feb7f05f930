// What is to be written into the usage of an ApiKey now? Nothing, nothing yet, or this. Pure: what is known of its spend, its
// budgets and its present status come in.
//
// Writes are at least five minutes apart, except when a budget is passed.

import { isDeepStrictEqual } from 'node:util';
import { type BudgetPeriod, type Overshoot, periodAt, worstOvershoot } from '../../core/contract/budget.ts';
import type { SpendUse, Spent } from '../../core/contract/spend.ts';
import { timeOf } from '../../core/kube/time.ts';
import type { ApiKeyUsage, Budget } from '../resources/api-key.ts';
import { dollarsOf, microdollarsOf } from './dollars.ts';
import { useIn } from './spend-book.ts';

/** The gateways, as far as the accuracy of budgets depends on them. */
export interface Gateways {
  readonly ready: number;
  /** Whether gateways keep budgets together, in a store. */
  readonly haveStore: boolean;
}

export interface UsageFacts {
  readonly budgets: readonly Budget[];
  /** Undefined: never used. */
  readonly spent: Spent | undefined;
  readonly present: ApiKeyUsage | undefined;
  readonly gateways: Gateways;
  /** Unix milliseconds. */
  readonly nowMs: number;
}

/** A share of a budget's limit that is passed: the warning, or the limit itself. */
export interface Crossing {
  readonly budget: Budget;
  readonly passed: 'warning' | 'limit';
  /** Dollars. */
  readonly spend: string;
  readonly period: NonNullable<ApiKeyUsage['periods']>[number];
}

export type UsageDecision =
  | { readonly type: 'same' }
  /** Decide again then. */
  | { readonly type: 'wait'; readonly untilMs: number }
  | { readonly type: 'write'; readonly usage: ApiKeyUsage; readonly crossings: readonly Crossing[] };

/** Between two writes to one object. */
export const USAGE_GAP_MS = 300_000;

export function settleUsage(facts: UsageFacts): UsageDecision {
  const { budgets, spent, present, nowMs } = facts;
  // An unused key without a budget gets no usage: there may be fifty thousand of them.
  if (spent === undefined && budgets.length === 0 && present === undefined) return { type: 'same' };
  const usage = describeUsage(facts);
  const crossings = crossingsOf(budgets, present, usage.periods);
  const isSaid = isDeepStrictEqual(saidIn(usage), present && saidIn(present));
  if (crossings.length === 0 && isSaid && !promisesTooMuch(present, usage)) return { type: 'same' };
  const untilMs = present?.observedAt === undefined ? 0 : Date.parse(present.observedAt) + USAGE_GAP_MS;
  if (crossings.length === 0 && nowMs < untilMs) return { type: 'wait', untilMs };
  return { type: 'write', usage, crossings };
}

/** The whole usage now, worth a write or not. */
export function describeUsage(facts: Omit<UsageFacts, 'present'>): DescribedUsage {
  const { budgets, spent, nowMs } = facts;
  const periods = periodsOf(budgets).map((period) => describe(period, useIn(spent, period, nowMs), facts));
  return {
    observedAt: timeOf(nowMs),
    ...(spent === undefined ? {} : { lastUsedAt: timeOf(Date.parse(spent.lastUsedAt)) }),
    spend: periods.at(-1)?.spend ?? '0.00',
    periods,
  };
}

/**
 * Without its time, and without the overshoot: where gateways go, that is no reason to write to every key that has a budget. Nor
 * is the share at which a warning is given, where none is. A list that is a map by nature comes back from the server in any order.
 */
function saidIn({ observedAt: _, periods, ...rest }: ApiKeyUsage) {
  return {
    ...rest,
    periods: new Map(periods?.map(({ atWorst: _, warnPercent: __, ...one }) => [one.period, one])),
  };
}

/** The worst overshoot is higher than the status says, which is worth a write. A lower one waits for the next write. */
function promisesTooMuch(present: ApiKeyUsage | undefined, { periods }: DescribedUsage): boolean {
  return periods.some(({ period, atWorst }) => {
    const said = present?.periods?.find((one) => one.period === period)?.atWorst;
    return isMore(atWorst, said) || isMore(atWorst?.withoutStore, said?.withoutStore);
  });
}

function isMore(now: StatedOvershoot | undefined, said: StatedOvershoot | undefined): boolean {
  if (now === undefined || said === undefined) return now !== undefined;
  const dollars = ({ dollars: text = '' }: StatedOvershoot) => microdollarsOf(text) ?? 0n;
  return (now.requests ?? 0) > (said.requests ?? 0) || dollars(now) > dollars(said);
}

/** In the order of their length. Without a budget, spend is reported for a month. */
const PERIODS = ['Day', 'Week', 'Month', 'Total'] as const satisfies readonly BudgetPeriod[];

function periodsOf(budgets: readonly Budget[]): readonly BudgetPeriod[] {
  const limited = new Set<BudgetPeriod>(budgets.map(({ period }) => period));
  return limited.size === 0 ? ['Month'] : PERIODS.filter((period) => limited.has(period));
}

type PeriodUsage = Crossing['period'];
type StatedOvershoot = Pick<NonNullable<PeriodUsage['atWorst']>, 'requests' | 'dollars'>;
type DescribedUsage = ApiKeyUsage & { readonly periods: readonly PeriodUsage[] };

function describe(
  period: BudgetPeriod,
  { costPicodollars, requests, tokens }: SpendUse,
  { budgets, gateways, nowMs }: Omit<UsageFacts, 'present'>,
): PeriodUsage {
  const { start } = periodAt(period, nowMs);
  const budget = budgets.find((one) => one.period === period);
  return {
    period,
    ...(start === '' ? {} : { start: `${start}T00:00:00Z` }),
    spend: dollarsOf(BigInt(costPicodollars)),
    ...(budget === undefined
      ? {}
      : { limit: budget.limit, warnPercent: budget.warnPercent, ...overshootOf(budget, gateways) }),
    requests,
    inputTokens: tokens.input,
    cachedInputTokens: tokens.cachedInput,
    outputTokens: tokens.output,
  };
}

/** Empty for a budget that only warns, and while no gateway is ready: the overshoot depends on the number of gateways. */
function overshootOf({ action, limit }: Budget, gateways: Gateways): Pick<PeriodUsage, 'atWorst'> {
  const limitMicrodollars = Number(microdollarsOf(limit) ?? 0n);
  if (action !== 'Block' || gateways.ready === 0) return {};
  const { withoutStore, ...worst } = worstOvershoot({
    limitMicrodollars,
    gateways: gateways.ready,
    hasStore: gateways.haveStore,
  });
  return {
    atWorst: {
      ...inDollars(worst),
      ...(withoutStore === undefined ? {} : { withoutStore: inDollars(withoutStore) }),
    },
  };
}

function inDollars({ requests, unheardMicrodollarsMax }: Overshoot) {
  return { requests, dollars: dollarsOf(BigInt(unheardMicrodollarsMax) * 1_000_000n) };
}

/** Crossings that the status does not show yet. The leader that wrote the others has reported them. */
function crossingsOf(
  budgets: readonly Budget[],
  present: ApiKeyUsage | undefined,
  periods: readonly PeriodUsage[],
): readonly Crossing[] {
  return budgets.flatMap((budget): Crossing[] => {
    const now = periods.find(({ period }) => period === budget.period);
    if (now?.spend === undefined) return [];
    const before = present?.periods?.find(
      ({ period, start }) => period === budget.period && start === now.start,
    );
    const level = levelOf(now.spend, budget.limit, budget.warnPercent);
    // Compared with the limit and warning of that time: a budget is reported again after its limit or warning changed. An earlier operator
    // did not write down where the warning was.
    const { limit: limitBefore, warnPercent: warnedAt = budget.warnPercent } = before ?? {};
    const levelBefore =
      limitBefore === undefined
        ? 0
        : levelOf(before?.spend, limitBefore, Math.max(warnedAt, budget.warnPercent));
    if (level <= levelBefore) return [];
    return [{ budget, passed: level === 2 ? 'limit' : 'warning', spend: now.spend, period: now }];
  });
}

/** 1: enough for a warning; 2: all of it. */
export function levelOf(spend: string | undefined, limit: string, warnPercent: number): 0 | 1 | 2 {
  const spent = microdollarsOf(spend ?? '');
  const allowed = microdollarsOf(limit);
  if (spent === undefined || allowed === undefined) return 0;
  if (spent >= allowed) return 2;
  return spent * 100n >= allowed * BigInt(warnPercent) ? 1 : 0;
}
