// What does an edit of a key refuse to its callers? Sentences to confirm before it is saved. Pure.

import { LIMITS, limitMembers } from '../words/choices.ts';
import type { Formats } from '../words/format.ts';
import type { ApiKey, Budget } from '../words/kube.ts';
import { exhaustedBudgets, spanWords } from './words.ts';

type EffectFormats = Pick<Formats, 'money' | 'time' | 'ago' | 'number'>;

/** Empty: callers notice nothing. */
export function effectsOfKeyEdit(
  before: ApiKey,
  after: ApiKey,
  formats: EffectFormats,
  nowMs: number,
): readonly string[] {
  return [
    ...effectsOfBudgets(before, after, formats, nowMs),
    ...effectsOfModels(before.spec.models?.allow ?? [], after.spec.models?.allow ?? []),
    ...effectsOfEnd(before.spec.expiresAt, after.spec.expiresAt, formats),
    ...limitMembers.flatMap((member) => {
      const [was, now] = [before.spec.limits?.[member], after.spec.limits?.[member]];
      if (now === undefined || (was !== undefined && now >= was)) return [];
      return [`Calls beyond ${formats.number(now)} ${LIMITS[member].label.toLowerCase()} are refused.`];
    }),
  ];
}

/** Periods that hold all of another one: a week may begin in the month before. */
const WITHIN: Readonly<Record<Budget['period'], readonly string[]>> = {
  Day: ['Week', 'Month', 'Total'],
  Week: ['Total'],
  Month: ['Total'],
  Total: [],
};

function effectsOfBudgets(
  before: ApiKey,
  after: ApiKey,
  formats: EffectFormats,
  nowMs: number,
): readonly string[] {
  const already = new Set(exhaustedBudgets(before, formats, nowMs).map(({ period }) => period));
  const known = before.status?.usage?.periods ?? [];
  const isKnown = ({ period }: Budget) => known.some((one) => one.period === period);
  const mayBeSpent = ({ period, limit }: Budget) => {
    const most = known.filter((one) => WITHIN[period].includes(one.period)).map(({ spend = '0' }) => spend);
    return most.every((spend) => Number(spend) >= Number(limit));
  };
  return [
    ...exhaustedBudgets(after, formats, nowMs)
      .filter(({ period }) => !already.has(period))
      .map(({ sentence }) => sentence),
    // Only spend in periods of present budgets is in the status.
    ...(after.spec.budgets ?? [])
      .filter(
        (budget) => known.length > 0 && budget.action !== 'Warn' && !isKnown(budget) && mayBeSpent(budget),
      )
      .map(
        ({ period, limit }) =>
          `Calls are refused if ${formats.money(limit)} or more is already spent ${spanWords(period)}.`,
      ),
  ];
}

function effectsOfModels(before: readonly string[], after: readonly string[]): readonly string[] {
  if (after.length === 0) return [];
  if (before.length === 0) return [`Calls of models other than ${after.join(', ')} are refused.`];
  const isCovered = (entry: string) =>
    after.some((one) => one === entry || (one.endsWith('*') && entry.startsWith(one.slice(0, -1))));
  const gone = before.filter((entry) => !isCovered(entry));
  return gone.length === 0 ? [] : [`Calls of ${gone.join(', ')} are refused.`];
}

function effectsOfEnd(
  before: string | undefined,
  after: string | undefined,
  { time }: Pick<Formats, 'time'>,
): readonly string[] {
  const isEarlier = after !== undefined && (before === undefined || Date.parse(after) < Date.parse(before));
  return isEarlier ? [`The key expires ${time(after)}. Calls are refused from then on.`] : [];
}
