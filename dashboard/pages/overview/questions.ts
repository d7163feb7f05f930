// What does the overview ask the ledger? All of it is here, so that what is measured is what is asked.

import { type Period, type PeriodQuery, periodQuery } from './period.ts';

export interface Question {
  readonly what: 'series' | 'requests' | 'refusals' | 'budgets' | 'health';
  readonly query: Readonly<Record<string, string | undefined>>;
}

export const MEASURES = ['cost', 'tokens', 'requests'] as const;
export type Measure = (typeof MEASURES)[number];
export const GROUPINGS = ['model', 'apiKey', 'namespace', 'provider'] as const;
export type Grouping = (typeof GROUPINGS)[number];

/** People distinguish about eight colours; the last one is for all others. */
const seriesMax = 8;
const topMax = '6';
/** More than anybody reads. */
const budgetsMax = '100';

interface Shown {
  readonly namespace: string | undefined;
  readonly query: PeriodQuery;
  readonly by: Grouping;
  readonly measure: Measure;
}

const ask = (what: Question['what'], query: Question['query']): Question => ({ what, query });

export function overviewQuestions({ namespace, query, by, measure }: Shown) {
  const { from, to, interval } = query;
  const time = { namespace, from, to, interval };
  const top = String(seriesMax - 1);
  return {
    series: ask('series', { ...time, by, top, topBy: measure }),
    // Sums of keys do not know how an attempt ended.
    failed: ask('series', { ...time, by: failedBy(by), top, topBy: 'failed' }),
    refused: ask('refusals', { ...time, by: 'code,status' }),
    refusedKeys: ask('refusals', { namespace, from, to, by: 'apiKey' }),
    whole: ask('series', time),
    requests: ask('requests', time),
    requestsOf: (model: string) => ask('requests', { ...time, model }),
    models: ask('series', { ...time, by: 'model', top: topMax, topBy: measure }),
    keys: ask('series', { ...time, by: 'apiKey', top: topMax, topBy: measure }),
    // From half on, the pace decides; there may be as many as keys.
    budgets: ask('budgets', { namespace, usedShare: '0.5', limit: budgetsMax }),
    health: ask('health', { namespace, from, to }),
  };
}

export function failedBy(by: Grouping): Exclude<Grouping, 'apiKey'> {
  return by === 'apiKey' ? 'model' : by;
}

/** Which periods hold anything at all, asked once for each visit. */
export function firstQuestions(namespace: string | undefined, nowMs: number) {
  const of = (period: Period) => {
    const { from, to, interval } = periodQuery(period, nowMs);
    return ask('series', { namespace, from, to, interval });
  };
  return { minutes: of('1h'), hours: of('24h'), days: of('30d') };
}
