// What is asked for? The query of a question, checked, with limits that keep one question from delaying all others.

import { z } from 'zod';
import { ledgerRecordSchema } from '../../core/contract/ledger-record.ts';
import { nextDay } from '../export/focus.ts';
import { dayOf } from '../store/day-of.ts';
import { SPENDER_NAMES } from '../store/row.ts';
import { INTERVALS, type Interval, isWhole, type Stretch } from '../store/spans.ts';
import { storableName } from '../store/storable.ts';
import {
  DIMENSIONS,
  type Dimension,
  type Filter,
  type RefusalDimension,
  type RefusalFilter,
  type Spender,
  type SumsQuery,
  WEIGHTS,
  type Weight,
} from '../store/store.ts';
import { badParameter } from './errors.ts';

export const ROWS_MAX = 10_000;
const mustBeLimit = `must be a whole number from 1 to ${ROWS_MAX}`;
const mustBeOffset = 'must be a whole number from 0, such as `next` of the previous page';
export const TOP_MAX = 50;
const mustBeTop = `must be a whole number from 1 to ${TOP_MAX}`;
const mustBeShare = 'must be a number from 0, such as 1 for all of it';
const daysMax = 400;
const hourDaysMax = 31;
const partDaysMax = 2;
const minuteDaysMax = 1;
const dimensionsMax = 4;

const mustBeTime = 'must be a day such as 2026-11-01, or a time in UTC such as 2026-11-01T10:00:00Z';
const time = z.union([z.iso.date(), z.iso.datetime()], { error: mustBeTime });
const name = z
  .string()
  .min(1, 'must not be empty')
  .max(400, 'must be at most 400 characters')
  .transform(storableName)
  .optional();

/** As records have them. */
export function oneOf<const Word extends string>(words: readonly Word[]) {
  return z.enum(words, `must be ${words.slice(0, -1).join(', ')} or ${words.at(-1)}`);
}

const querySchema = z.strictObject({
  from: time.optional(),
  to: time.optional(),
  by: z
    .string()
    .default('')
    .transform((text) => text.split(',').flatMap((word) => word.trim() || []))
    .pipe(
      z
        .array(z.enum(DIMENSIONS, `must be of ${DIMENSIONS.join(', ')}, with commas between them`))
        .max(dimensionsMax, `must be at most ${dimensionsMax} dimensions`),
    ),
  interval: z.enum(INTERVALS, 'must be day, hour or minute').optional(),
  limit: z.coerce
    .number(mustBeLimit)
    .int(mustBeLimit)
    .min(1, mustBeLimit)
    .max(ROWS_MAX, mustBeLimit)
    .default(ROWS_MAX),
  offset: z.coerce
    .number(mustBeOffset)
    .int(mustBeOffset)
    .min(0, mustBeOffset)
    .max(1_000_000_000, mustBeOffset)
    .default(0),
  top: z.coerce.number(mustBeTop).int(mustBeTop).min(1, mustBeTop).max(TOP_MAX, mustBeTop).optional(),
  topBy: oneOf(WEIGHTS).optional(),
  usedShare: z.coerce.number(mustBeShare).min(0, mustBeShare).optional(),
  spender: oneOf(SPENDER_NAMES).optional(),
  namespace: name,
  apiKey: name,
  route: name,
  provider: name,
  model: name,
  upstreamModel: name,
  payer: oneOf(ledgerRecordSchema.shape.payer.options).optional(),
  outcome: oneOf(ledgerRecordSchema.shape.outcome.options).optional(),
});

/** Of refusals, which have names of their own. */
interface RefusalsAsked {
  readonly by: readonly RefusalDimension[];
  readonly where: RefusalFilter;
}

export interface Asked {
  /** Absent: the question is about something else. */
  readonly refusals?: RefusalsAsked;
  readonly from: string;
  readonly to: string;
  readonly by: readonly Dimension[];
  readonly interval: Interval | undefined;
  /** Rows of one answer. */
  readonly limit: number;
  /** Rows that an earlier answer showed. */
  readonly offset: number;
  readonly where: Filter;
  /** Budgets of which so much was spent. */
  readonly usedShare: number | undefined;
  /** Budgets of keys, or of whole namespaces; undefined: both. */
  readonly spender: Spender | undefined;
  /** The largest groups alone, and what all others come to. */
  readonly top: { readonly count: number; readonly by: Weight } | undefined;
}

/** Without days, the last thirty, today included. @throws {ApiError} that names the parameter. */
export function readParameters(search: URLSearchParams, nowMs: number): Asked {
  for (const key of new Set(search.keys()))
    if (search.getAll(key).length > 1) throw badParameter(`${key}: is given more than once`);
  const parsed = querySchema.safeParse(Object.fromEntries(search));
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const field = issue?.code === 'unrecognized_keys' ? issue.keys.join(', ') : issue?.path[0];
    const what = issue?.code === 'unrecognized_keys' ? 'is no parameter of this question' : issue?.message;
    throw badParameter(`${String(field)}: ${what}`);
  }
  const { from, to, by, interval, limit, offset, top, topBy, usedShare, spender, ...where } = parsed.data;
  const end = to ?? nextDay(dayOf(nowMs));
  const start = from ?? dayOf(Date.parse(end) - 30 * 86_400_000);
  const stretch = { from: start, to: end };
  const days = (Date.parse(end) - Date.parse(start)) / 86_400_000;
  if (!(days > 0))
    throw badParameter('to: must be after from; it is the first day or moment that is left out');
  const { most, of } = mostDays(stretch, [...by, ...(interval === undefined ? [] : [interval])]);
  if (days > most)
    throw badParameter(
      `from: ${Math.round(days * 10) / 10} days are more than the ${most} of one question${of}`,
    );
  if (new Set(by).size < by.length) throw badParameter('by: names a dimension twice');
  if (topBy !== undefined && top === undefined)
    throw badParameter('topBy: says what the largest are, and top how many of them; give both');
  const filter: Filter = Object.fromEntries(Object.entries(where).filter(([, value]) => value !== undefined));
  const largest = top === undefined ? undefined : { count: top, by: topBy ?? 'cost' };
  return {
    from: start,
    to: end,
    by,
    interval,
    limit,
    offset,
    usedShare,
    spender,
    where: filter,
    top: largest,
  };
}

/** What sums by day do not know costs more to find: by the hour some, and by the minute it is counted record by record. */
function mostDays(
  stretch: Stretch,
  by: readonly Dimension[],
): { readonly most: number; readonly of: string } {
  if (by.includes('minute')) return { most: minuteDaysMax, of: ' by the minute' };
  if (!isWhole(stretch, 'hour'))
    return { most: partDaysMax, of: ' that does not begin and end with an hour' };
  if (by.includes('hour') || !isWhole(stretch, 'day')) return { most: hourDaysMax, of: ' by the hour' };
  return { most: daysMax, of: '' };
}

/** One row more than are shown: so it is known whether there are more. */
export function sumsQueryOf({ from, to, where, limit, offset }: Asked, by: readonly Dimension[]): SumsQuery {
  return { from, to, where, by, limit: limit + 1, offset };
}
