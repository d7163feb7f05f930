// What is said of sums and spend? Money as text, exact: no reader has to add up floats.

import { z } from 'zod';
import { ledgerRecordSchema } from '../../core/contract/ledger-record.ts';
import { priceSchema } from '../../core/contract/routing-table.ts';
import { usdOf } from '../money.ts';
import { INTERVALS } from '../store/spans.ts';
import type {
  Costs,
  Dimension,
  FirstContentSumsRow,
  LastFailure,
  LatestRecord,
  OutcomesRow,
  Spend,
  Sums,
  SumsRow,
  Use,
} from '../store/store.ts';
import { failureWords } from './failure-words.ts';
import type { Asked } from './parameters.ts';
import { firstContentAnswer } from './requests.ts';

const priceOfSchema = z.object({ price: priceSchema.nullable() });

/** JSON already, sent unchanged. */
export class JsonText {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

export const moneyAnswer = (picodollars: bigint) => ({
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
    ...moneyAnswer(costPicodollars),
  };
}

/** Attempts that came to no good end by no wish of the caller. */
export function failedOf(outcomes: OutcomesRow['outcomes']): number {
  return outcomes.failed + outcomes['broken-off'] + outcomes.interrupted;
}

type Page = Pick<Asked, 'limit' | 'offset'>;

/** @param refused How often each group was; undefined: that is not known. */
export function rowsAnswer(rows: readonly SumsRow[], page: Page, refused: RefusedGroups | undefined) {
  return {
    rows: rows.slice(0, page.limit).map(({ group, sums }) => ({
      ...group,
      ...sumsAnswer(sums),
      ...(refused === undefined ? {} : { refused: refused.of(group) }),
    })),
    ...moreAnswer(rows.length, page),
  };
}

/** Intervals in which nothing but refusals happened are rows too, where no row is left out. */
export function withRefusedOnly<Row extends Pick<SumsRow, 'group'>>(
  rows: readonly Row[],
  by: readonly Dimension[],
  page: Page,
  refused: RefusedGroups | undefined,
  empty: (group: SumsRow['group']) => Row,
): readonly Row[] {
  const isOfTime = by.every((dimension) => INTERVALS.some((interval) => interval === dimension));
  if (refused === undefined || !isOfTime || page.offset > 0 || rows.length > page.limit) return rows;
  const placeOf = (group: SumsRow['group']) => by.map((dimension) => group[dimension]).join();
  const places = new Set(rows.map(({ group }) => placeOf(group)));
  const further = refused.groups.filter(({ group }) => !places.has(placeOf(group)));
  if (further.length === 0) return rows;
  return [...rows, ...further.map(({ group }) => empty(group))].toSorted((a, b) =>
    placeOf(a.group) < placeOf(b.group) ? -1 : 1,
  );
}

export const nothing: Sums = {
  requests: 0,
  attempts: 0,
  estimated: 0,
  unpriced: 0,
  input: 0,
  cachedInput: 0,
  cacheWrite: 0,
  output: 0,
  reasoning: 0,
  costPicodollars: 0n,
};

/** How often groups of attempts were refused before any attempt. */
export interface RefusedGroups {
  of(group: SumsRow['group']): number;
  readonly groups: readonly { readonly group: SumsRow['group']; readonly refused: number }[];
}

/** Whether there are more rows than are shown, and from which one on. */
export function moreAnswer(found: number, { limit, offset }: Page) {
  return { isTruncated: found > limit, ...(found > limit ? { next: offset + limit } : {}) };
}

/** One page of a complete list of rows. */
export function pageOf<Row>(rows: readonly Row[], page: Page) {
  const left = rows.slice(page.offset);
  return { page: left.slice(0, page.limit), ...moreAnswer(left.length, page) };
}

function useAnswer({ costPicodollars, requests, unpriced, input, cachedInput, output }: Use) {
  return { requests, unpriced, tokens: { input, cachedInput, output }, ...moneyAnswer(costPicodollars) };
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

/** What `CostsRow` holds, in its order. */
const costsColumns = ['apiKey', 'lastUsedMs', 'dayUsd', 'weekUsd', 'monthUsd', 'totalUsd'];

/** Made without reading a row of them. */
export function costsAnswer({ json, total }: Costs, page: Page): JsonText {
  const more = JSON.stringify({ columns: costsColumns, ...moreAnswer(total - page.offset, page) });
  return new JsonText(`${more.slice(0, -1)},"rows":${json}}`);
}

/** Sums of a model, how its attempts ended, its first tokens, and what its newest delivered record was billed by. */
export function modelsAnswer(
  rows: readonly OutcomesRow[],
  latest: readonly LatestRecord[],
  firstContents: readonly FirstContentSumsRow[],
  page: Page,
) {
  const lines = new Map(latest.map(({ model, line }) => [model, line]));
  const begun = Map.groupBy(firstContents, ({ group }) => group.model);
  return {
    rows: rows.slice(0, page.limit).map(({ group, sums, outcomes }) => ({
      ...group,
      ...sumsAnswer(sums),
      outcomes,
      ...firstContentAnswer(begun.get(group.model) ?? []),
      ...pricingAnswer(lines.get(group.model ?? '')),
    })),
    ...moreAnswer(rows.length, page),
  };
}

/** In dollars, as a ModelRoute writes them. Nothing where the record is not known any more, or has no price. */
function pricingAnswer(line: string | undefined) {
  const price = line === undefined ? undefined : priceOfSchema.safeParse(JSON.parse(line)).data?.price;
  if (price === undefined || price === null) return {};
  const perMillion = (picodollars: number) => usdOf(BigInt(picodollars) * 1_000_000n);
  const {
    input,
    output,
    cachedInput,
    cacheWrite,
    cacheWriteHour,
    reasoning,
    perRequest,
    tiers,
    source,
    catalog,
  } = price;
  return {
    lastPricing: {
      inputPerMillion: perMillion(input),
      outputPerMillion: perMillion(output),
      ...(cachedInput === undefined ? {} : { cachedInputPerMillion: perMillion(cachedInput) }),
      ...(cacheWrite === undefined ? {} : { cacheWritePerMillion: perMillion(cacheWrite) }),
      ...(cacheWriteHour === undefined ? {} : { cacheWriteHourPerMillion: perMillion(cacheWriteHour) }),
      ...(reasoning === undefined ? {} : { reasoningPerMillion: perMillion(reasoning) }),
      ...(perRequest === undefined ? {} : { perRequest: usdOf(BigInt(perRequest)) }),
      hasTiers: tiers !== undefined,
      source,
      ...(catalog === undefined ? {} : { catalog: { name: catalog.name, version: catalog.version } }),
    },
  };
}

/** Attempts at one thing: how many succeeded, and when the last one failed. */
export function healthAnswer(
  rows: readonly OutcomesRow[],
  by: readonly ('provider' | 'upstreamModel' | 'route')[],
  failures: readonly LastFailure[],
  firstContents: readonly FirstContentSumsRow[],
  page: Page,
) {
  const keyOf = (group: SumsRow['group']) => JSON.stringify(by.map((dimension) => group[dimension]));
  const failed = new Map(failures.map((failure) => [keyOf(failure.group), failure]));
  const begun = Map.groupBy(firstContents, (row) => keyOf(row.group));
  return {
    health: rows.slice(0, page.limit).map(({ group, sums: { requests, attempts }, outcomes }) => {
      const last = failed.get(keyOf(group));
      return {
        ...group,
        requests,
        attempts,
        outcomes,
        ...firstContentAnswer(begun.get(keyOf(group)) ?? []),
        ...(last === undefined ? {} : { lastFailedAt: new Date(last.atMs).toISOString() }),
        ...lastFailureAnswer(last?.line),
      };
    }),
    ...moreAnswer(rows.length, page),
  };
}

const failureSchema = ledgerRecordSchema.pick({ request: true, status: true, failure: true, cause: true });

/** Why, and of which request. Nothing where the record is not known any more. */
function lastFailureAnswer(line: string | undefined) {
  const found = line === undefined ? undefined : failureSchema.safeParse(JSON.parse(line)).data;
  if (found === undefined) return {};
  const { cause, ...failed } = found;
  const words = failed.failure === undefined ? {} : { cause: failureWords(failed.failure, cause) };
  return { lastFailure: { ...failed, ...words } };
}
