// How much was used over time, by whom? Each group by itself; or the largest of them, and all others together, since nobody can look
// at ten thousand lines.

import type { Interval } from '../store/spans.ts';
import type { Dimension, LedgerStore, Sums, SumsRow } from '../store/store.ts';
import { pageOf, rowsAnswer, sumsAnswer } from './answers.ts';
import { badParameter } from './errors.ts';
import { type Asked, sumsQueryOf, TOP_MAX } from './parameters.ts';

type Store = Pick<LedgerStore, 'sums' | 'largest'>;

export async function seriesAnswer(store: Store, asked: Asked) {
  const { from, to, interval = 'day', top } = asked;
  const by = asked.by.filter((dimension) => dimension !== interval);
  const rows =
    top === undefined
      ? rowsAnswer(await store.sums(sumsQueryOf(asked, [interval, ...by])), asked)
      : await topAnswer(store, { ...asked, interval, top: { ...top, dimension: onlyOf(by) } });
  return { from, to, interval, ...rows };
}

type Grouping = Exclude<Dimension, Interval>;

function onlyOf(by: readonly Dimension[]): Grouping {
  const [dimension, ...others] = by;
  const isGrouping = (one: Dimension): one is Grouping => !['day', 'hour', 'minute'].includes(one);
  if (dimension === undefined || others.length > 0 || !isGrouping(dimension))
    throw badParameter('top: needs by to name one dimension that is no time, such as by=apiKey');
  return dimension;
}

interface TopAsked extends Asked {
  readonly interval: Interval;
  readonly top: NonNullable<Asked['top']> & { readonly dimension: Grouping };
}

async function topAnswer(store: Store, asked: TopAsked) {
  const { from, to, where, interval, top } = asked;
  const { dimension, count, by: largestBy } = top;
  const whole = { from, to, where, limit: intervalsMax };
  const values = await store.largest({ ...whole, by: dimension, largestBy, limit: count });
  const among = { dimension, values };
  const limit = TOP_MAX * intervalsMax;
  // In sequence: records that arrive between them are in the sum of all, so the rest is never negative.
  const each =
    values.length === 0 ? [] : await store.sums({ ...whole, by: [interval, dimension], among, limit });
  const all = await store.sums({ ...whole, by: [interval] });
  const byStart = Map.groupBy(each, ({ group }) => group[interval]);
  const rows = all.flatMap((one) => withRest(one, byStart.get(one.group[interval]) ?? []));
  const { page, ...more } = pageOf(rows, asked);
  return {
    rows: page.map(({ group, sums, isRest }) => ({
      ...group,
      ...(isRest === true ? { isRest } : {}),
      ...sumsAnswer(sums),
    })),
    ...more,
  };
}

/** Minutes of a day are the most that one question is about. */
const intervalsMax = 1_440;

function withRest(all: SumsRow, shown: readonly SumsRow[]): (SumsRow & { readonly isRest?: true })[] {
  const rest = shown.reduce((left, { sums }) => minus(left, sums), all.sums);
  return rest.attempts > 0 ? [...shown, { group: all.group, sums: rest, isRest: true }] : [...shown];
}

function minus(all: Sums, part: Sums): Sums {
  return {
    requests: all.requests - part.requests,
    attempts: all.attempts - part.attempts,
    estimated: all.estimated - part.estimated,
    unpriced: all.unpriced - part.unpriced,
    input: all.input - part.input,
    cachedInput: all.cachedInput - part.cachedInput,
    cacheWrite: all.cacheWrite - part.cacheWrite,
    output: all.output - part.output,
    reasoning: all.reasoning - part.reasoning,
    costPicodollars: all.costPicodollars - part.costPicodollars,
  };
}
