// What are the limits and the state of a key, in few words?

import type { KeyRow, KeyState } from '../../api-types.ts';
import { LIMITS, limitMembers } from '../words/choices.ts';
import type { Tone } from '../words/conditions.ts';
import type { Formats } from '../words/format.ts';
import type { ApiKey, Budget, Limits } from '../words/kube.ts';

export const KEY_STATES = {
  Ready: { word: 'Ready', tone: 'good' },
  ExpiresSoon: { word: 'Expires soon', tone: 'warn' },
  BudgetUsedUp: { word: 'Budget used up', tone: 'bad' },
  Pending: { word: 'Pending', tone: 'busy' },
  Disabling: { word: 'Disabling', tone: 'warn' },
  Disabled: { word: 'Disabled', tone: 'off' },
  Expired: { word: 'Expired', tone: 'bad' },
  Rejected: { word: 'Rejected', tone: 'bad' },
} as const satisfies Readonly<Record<KeyState, { readonly word: string; readonly tone: Tone }>>;

export function stateWords({ state }: Pick<KeyRow, 'state'>): { readonly word: string; readonly tone: Tone } {
  return KEY_STATES[state];
}

/** Short enough for a cell: `60 req/min · 100K tok/min`. Empty: no limits. */
export function limitWords(limits: Limits | null | undefined, formats: Pick<Formats, 'compact'>): string {
  return limitMembers
    .flatMap((member) => {
      const limit = limits?.[member];
      return limit === undefined ? [] : `${formats.compact(limit)} ${LIMITS[member].unit}`;
    })
    .map((words) => words.replaceAll(' ', '\u00a0'))
    .join(' · ');
}

export function periodWords(period: string): string {
  return { Day: 'day', Week: 'week', Month: 'month', Total: 'all time' }[period] ?? period;
}

/** The current one. */
export function spanWords(period: string): string {
  return { Day: 'today', Total: 'in total' }[period] ?? `this ${periodWords(period)}`;
}

/** Start of a period's spend. The period may be over if nothing newer is known, so the text names its beginning. */
export function sinceWords(
  period: string,
  start: string | undefined,
  nowMs: number,
  { time }: Pick<Formats, 'time'>,
): string {
  const end = endOf(period, start);
  return start === undefined || end === undefined || nowMs < Date.parse(end)
    ? spanWords(period)
    : `in the ${periodWords(period)} since ${time(start)}`;
}

/** End of a period, RFC 3339, in UTC as budgets are counted; undefined: it has none. */
function endOf(period: string, start: string | undefined): string | undefined {
  if (start === undefined || period === 'Total') return undefined;
  const at = new Date(start);
  if (period === 'Month') at.setUTCMonth(at.getUTCMonth() + 1);
  else at.setUTCDate(at.getUTCDate() + (period === 'Week' ? 7 : 1));
  return at.toISOString();
}

/** Empty: none. */
export function budgetWords(
  budgets: readonly Budget[] | undefined,
  { money }: Pick<Formats, 'money'>,
): string {
  return (budgets ?? [])
    .map(
      ({ period, limit, action }) =>
        `${money(limit)}\u00a0/\u00a0${periodWords(period)}${action === 'Warn' ? ' (warn only)' : ''}`,
    )
    .join(' · ');
}

/** The key's own budgets that refuse calls, as far as the spend is known. */
export function exhaustedBudgets(
  { spec, status }: ApiKey,
  { money, time, ago }: Pick<Formats, 'money' | 'time' | 'ago'>,
  nowMs: number,
): readonly { readonly period: Budget['period']; readonly sentence: string }[] {
  return (spec.budgets ?? []).flatMap(({ period, limit, action }) => {
    const used = status?.usage?.periods?.find((one) => one.period === period);
    const end = endOf(period, used?.start);
    const spend = used?.spend ?? '0';
    if (action === 'Warn' || Number(spend) < Number(limit) || (end !== undefined && Date.parse(end) <= nowMs))
      return [];
    const name = { Day: 'Daily', Week: 'Weekly', Month: 'Monthly', Total: 'Total' }[period];
    const until = end === undefined ? 'the limit is raised' : `${time(end)} (${ago(end, nowMs)})`;
    const sentence = `${name} budget used up: ${money(spend)} of ${money(limit)}. Refused until ${until}.`;
    return [{ period, sentence }];
  });
}

/** Undefined: none. */
export function exhaustedWords(
  key: ApiKey,
  formats: Pick<Formats, 'money' | 'time' | 'ago'>,
  nowMs: number,
): string | undefined {
  const sentences = exhaustedBudgets(key, formats, nowMs).map(({ sentence }) => sentence);
  return sentences.length === 0 ? undefined : sentences.join(' ');
}

/** The budget nearest to its limit, or none. A budget of unknown spend comes last. */
export function tightestBudget<Of extends { readonly limit: string; readonly spend: string | null }>(
  budgets: readonly Of[],
): (Of & { readonly share: number | undefined }) | undefined {
  return budgets
    .map((budget) => {
      const { limit, spend } = budget;
      const share = spend === null ? undefined : Number(limit) === 0 ? 1 : Number(spend) / Number(limit);
      return { ...budget, share };
    })
    .sort((a, b) => (b.share ?? -1) - (a.share ?? -1))[0];
}
