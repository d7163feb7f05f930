// What does the overview ask the ledger? All of it is said here, so that how long it takes is measured of what is asked.

import { monthOf, type PeriodQuery } from './period.ts';

export interface Question {
  readonly what: 'series' | 'requests' | 'namespaces' | 'budgets' | 'health';
  readonly query: Readonly<Record<string, string | undefined>>;
}

export const MEASURES = ['cost', 'tokens', 'requests'] as const;
export type Measure = (typeof MEASURES)[number];
export const GROUPINGS = ['model', 'apiKey', 'namespace', 'provider'] as const;
export type Grouping = (typeof GROUPINGS)[number];

/** So many colours are told apart; the last one is that of all others. */
const seriesMax = 8;
/** More that went wrong than anybody reads. */
const budgetsMax = '100';

interface Shown {
  readonly namespace: string | undefined;
  readonly query: PeriodQuery;
  readonly by: Grouping;
  readonly measure: Measure;
}

export function overviewQuestions({ namespace, query, by, measure }: Shown, nowMs: number) {
  const { from, to, interval } = query;
  const time = { namespace, from, to, interval };
  const ask = (what: Question['what'], given: Question['query']): Question => ({ what, query: given });
  return {
    series: ask('series', { ...time, by, top: String(seriesMax - 1), topBy: measure }),
    whole: ask('series', time),
    requests: ask('requests', time),
    spent: ask('namespaces', { namespace, from: monthOf(nowMs) }),
    // There may be as many as keys, and none of those with something left is shown.
    usedUp: ask('budgets', { namespace, usedShare: '1', limit: budgetsMax }),
    /** Of the namespace as a whole. */
    own: namespace === undefined ? undefined : ask('budgets', { namespace, spender: 'namespace' }),
    health: ask('health', { namespace, from, to }),
  };
}
