// What is said of sums and spend? Money as text, exact: no reader has to add up floats.

import { usdOf } from '../money.ts';
import type { Spend, Sums, SumsRow, Use } from '../store/store.ts';
import { ROWS_MAX } from './parameters.ts';

const money = (picodollars: bigint) => ({
  costUsd: usdOf(picodollars),
  costPicodollars: picodollars.toString(),
});

export function sumsAnswer({
  costPicodollars,
  input,
  output,
  cachedInput,
  cacheWrite,
  reasoning,
  ...counts
}: Sums) {
  return {
    ...counts,
    tokens: { input, cachedInput, cacheWrite, output, reasoning },
    ...money(costPicodollars),
  };
}

export function rowsAnswer(rows: readonly SumsRow[]) {
  return {
    rows: rows.slice(0, ROWS_MAX).map(({ group, sums }) => ({ ...group, ...sumsAnswer(sums) })),
    /** More rows than are shown: ask for less. */
    isTruncated: rows.length > ROWS_MAX,
  };
}

function useAnswer({ costPicodollars, requests, unpriced, input, cachedInput, output }: Use) {
  return { requests, unpriced, tokens: { input, cachedInput, output }, ...money(costPicodollars) };
}

/** @param since The first day of each period. */
export function spendAnswer(
  spend: Spend,
  since: { readonly day: string; readonly week: string; readonly month: string },
) {
  return {
    lastUsedAt: new Date(spend.lastUsedMs).toISOString(),
    day: { since: since.day, ...useAnswer(spend.day) },
    week: { since: since.week, ...useAnswer(spend.week) },
    month: { since: since.month, ...useAnswer(spend.month) },
    total: useAnswer(spend.total),
  };
}

/** Of attempts at one thing: how many came to a good end. */
export function healthAnswer(
  rows: readonly SumsRow[],
  by: readonly ('provider' | 'upstreamModel' | 'route')[],
) {
  const found = new Map<
    string,
    Record<string, unknown> & { attempts: number; outcomes: Record<string, number> }
  >();
  for (const { group, sums } of rows) {
    const what = Object.fromEntries(by.map((dimension) => [dimension, group[dimension]]));
    const key = JSON.stringify(what);
    const health = found.get(key) ?? {
      ...what,
      attempts: 0,
      outcomes: { answered: 0, failed: 0, 'broken-off': 0, cancelled: 0 },
    };
    health.attempts += sums.attempts;
    const outcome = group.outcome ?? '';
    health.outcomes[outcome] = (health.outcomes[outcome] ?? 0) + sums.attempts;
    found.set(key, health);
  }
  return [...found.values()];
}
