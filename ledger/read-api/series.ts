// How much was used over time, and by whom? A line for each group; or for the largest groups, with all others in one line, because ten
// thousand lines cannot be read.

import type { Interval } from '../store/spans.ts';
import type { Dimension, LedgerStore, OutcomesRow, Sums } from '../store/store.ts';
import { failedOf, moreAnswer, nothing, pageOf, sumsAnswer, withRefusedOnly } from './answers.ts';
import { badParameter } from './errors.ts';
import { type Asked, sumsQueryOf, TOP_MAX } from './parameters.ts';
import { refusedBy } from './refusals.ts';

type Store = Pick<LedgerStore, 'outcomes' | 'largest' | 'refusals'>;

export async function seriesAnswer(store: Store, asked: Asked) {
  const { from, to, interval = 'day', top } = asked;
  const by = asked.by.filter((dimension) => dimension !== interval);
  const all = [interval, ...by];
  const [rows, refused, refusedIn] = await Promise.all([
    top === undefined
      ? eachRow(store, asked, all)
      : topRows(store, { ...asked, interval, top: { ...top, dimension: onlyOf(by) } }),
    refusedBy(store, asked, all, asked.where),
    top && refusedBy(store, asked, [interval], asked.where),
  ]);
  const found = top === undefined ? withRefusedOnly(rows, all, asked, refused, emptyRow) : rows;
  // With `top`, the rows are complete, and pages are cut here.
  const { page, ...more } =
    top === undefined
      ? { page: found.slice(0, asked.limit), ...moreAnswer(found.length, asked) }
      : pageOf(found, asked);
  const byStart = Map.groupBy(found, ({ group }) => group[interval]);
  const refusedOf = ({ group, isRest }: SeriesRow): number | undefined => {
    if (isRest !== true) return refused?.of(group);
    if (refused === undefined || refusedIn === undefined) return undefined;
    const shown = byStart.get(group[interval]) ?? [];
    return shown.reduce(
      (left, row) => (row.isRest ? left : left - refused.of(row.group)),
      refusedIn.of(group),
    );
  };
  return {
    ...{ from, to, interval },
    rows: page.map((row) => ({
      ...row.group,
      ...(row.isRest === true ? { isRest: true } : {}),
      ...sumsAnswer(row.sums),
      failed: row.failed,
      refused: refusedOf(row),
    })),
    ...more,
  };
}

function emptyRow(group: SeriesRow['group']): SeriesRow {
  return { group, sums: nothing, failed: 0 };
}

async function eachRow(store: Store, asked: Asked, by: readonly Dimension[]): Promise<readonly SeriesRow[]> {
  return (await store.outcomes(sumsQueryOf(asked, by))).map(rowOf);
}

interface SeriesRow {
  readonly group: OutcomesRow['group'];
  readonly sums: Sums;
  /** Attempts that failed or were cut off. */
  readonly failed: number;
  readonly isRest?: true;
}

function rowOf({ group, sums, outcomes }: OutcomesRow): SeriesRow {
  return { group, sums, failed: failedOf(outcomes) };
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

async function topRows(store: Store, asked: TopAsked): Promise<readonly SeriesRow[]> {
  const { from, to, where, interval, top } = asked;
  const { dimension, count, by: largestBy } = top;
  const whole = { from, to, where, limit: intervalsMax };
  const values = await store.largest({ ...whole, by: dimension, largestBy, limit: count });
  const among = { dimension, values };
  const limit = TOP_MAX * intervalsMax;
  // In sequence: records that arrive between them are in the sum of all, so the rest is never negative.
  const each =
    values.length === 0
      ? []
      : (await store.outcomes({ ...whole, by: [interval, dimension], among, limit })).map(rowOf);
  const all = (await store.outcomes({ ...whole, by: [interval] })).map(rowOf);
  const byStart = Map.groupBy(each, ({ group }) => group[interval]);
  return all.flatMap((one) => withRest(one, byStart.get(one.group[interval]) ?? []));
}

/** Minutes of a day are the most that one question is about. */
const intervalsMax = 1_440;

function withRest(all: SeriesRow, shown: readonly SeriesRow[]): readonly SeriesRow[] {
  const sums = shown.reduce((left, row) => minus(left, row.sums), all.sums);
  const failed = shown.reduce((left, row) => left - row.failed, all.failed);
  return sums.attempts > 0 ? [...shown, { group: all.group, sums, failed, isRest: true }] : shown;
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
