// What do the views of a dashboard ask the ledger? What its own code asks, of all and of one namespace, and what else a first screen may.

import { PERIODS, periodQuery } from '../../dashboard/pages/overview/period.ts';
import {
  firstQuestions,
  GROUPINGS,
  MEASURES,
  overviewQuestions,
  type Question,
} from '../../dashboard/pages/overview/questions.ts';
import { spendsQuestion } from '../../dashboard/rows/spends.ts';
import { spanAt } from '../../ledger/store/spans.ts';

export interface ViewQuestion {
  /** Path and query. */
  readonly path: string;
  readonly window: string;
}

/** Each once. @param namespace One that was used. */
export function viewQuestions(nowMs: number, namespace: string): readonly ViewQuestion[] {
  const asked = PERIODS.flatMap((window) =>
    [undefined, namespace].flatMap((where) => {
      const query = periodQuery(window, nowMs);
      const { from, to } = query;
      const groupings = GROUPINGS.filter((by) => by !== 'provider' || where === undefined);
      const ofOverview = groupings.flatMap((by) =>
        MEASURES.flatMap((measure) =>
          // Requests of one model are asked for by a person who picks one.
          Object.values(overviewQuestions({ namespace: where, query, by, measure })).filter(
            (question) => typeof question !== 'function',
          ),
        ),
      );
      const { path, search } = spendsQuestion(nowMs, where);
      // The dashboard's server adds keys up to owners and teams.
      const others = [
        '/v1/uses?limit=10000&',
        ...['/v1/sums?', '/v1/models?', '/v1/keys?limit=50&', '/v1/namespaces?'],
      ].map(
        (one) =>
          `${one}${new URLSearchParams({ from, to, ...(where === undefined ? {} : { namespace: where }) })}`,
      );
      const ofFirst = Object.values(firstQuestions(where, nowMs)).flatMap(pathOf);
      const refused = ['code', 'apiKey,model,status,code'].map(
        (by) =>
          `/v1/refusals?${new URLSearchParams({ from, to, by, ...(where === undefined ? {} : { namespace: where }) })}`,
      );
      return [...ofOverview.flatMap(pathOf), ...ofFirst, ...refused, `${path}${search}`, ...others].map(
        (one) => ({
          path: one,
          window,
        }),
      );
    }),
  );
  const ofObjects = [
    'provider=platform%2Fp0',
    ...['', `&namespace=${namespace}`].map((where) => `route=platform%2Fmodel-0${where}`),
  ];
  const { from, to } = periodQuery('30d', nowMs);
  const ofKey = new URLSearchParams({ namespace, apiKey: `${namespace}/key-00003`, from, to });
  const ofPages = [
    ...ofObjects.map((of) => `/v1/health?${of}`),
    `/v1/series?${ofKey}&interval=day&by=model&top=5&topBy=cost`,
    `/v1/refusals?${ofKey}&by=code`,
    `/v1/budgets?${new URLSearchParams({ namespace, apiKey: `${namespace}/key-00003` })}`,
  ].map((path) => ({ path, window: '30d' }));
  const since = (ms: number) => `from=${new Date(nowMs - ms).toISOString().slice(0, 19)}Z`;
  const recent = ofObjects.map((of) => ({ path: `/v1/health?${since(600_000)}&${of}`, window: '10m' }));
  const lately = ['', `&namespace=${namespace}`].map((where) => ({
    path: `/v1/models?${since(86_400_000)}${where}`,
    window: '24h',
  }));
  return [
    ...new Map(
      [...asked, ...ofPages, ...recent, ...lately, ...logQuestions(nowMs, namespace)].map((question) => [
        question.path,
        question,
      ]),
    ).values(),
  ];
}

/** Single requests, by each filter by itself: what is used much, what is hardly used, and what there is none of. */
function logQuestions(nowMs: number, namespace: string): readonly ViewQuestion[] {
  const filters = [
    ...['', `namespace=${namespace}`, 'namespace=nowhere', `namespace=${namespace}&outcome=error`],
    ...['apiKey=team-000/key-00000', 'apiKey=team-003/key-00003', 'apiKey=team-000/none'],
    ...['model=penstock/model-0', 'model=none', 'model=penstock/model-0&outcome=error'],
    ...['provider=platform/p0', 'provider=platform/p0&outcome=error', 'provider=none'],
    ...['outcome=error', 'outcome=refused', 'outcome=answered', 'outcome=interrupted', 'outcome=cancelled'],
    ...[
      'order=failures',
      'status=429',
      'status=502',
      'status=200',
      'status=418',
      'code=status_500',
      'code=rate_limit_exceeded',
    ],
    ...['code=rate_limit_exceeded', 'status=429', 'model=penstock/model-0'].map(
      (filter) => `namespace=${namespace}&${filter}`,
    ),
    // As `makeSeldom` and `makeRefusals` have them.
    ...['hourly', 'daily', 'once', 'daily&outcome=error'].flatMap((name) => [
      `model=seldom/${name}`,
      `provider=seldom/${name}`,
    ]),
    ...[
      'namespace=seldom-hourly',
      'namespace=seldom-once',
      'apiKey=seldom-hourly/key',
      'outcome=refused&status=404',
    ],
    ...['', '&provider=seldom/daily', '&outcome=error', '&outcome=error&code=timeout_total'].map(
      (filter) => `apiKey=team-000/key-00000&model=seldom/daily${filter}`,
    ),
    'request=req_00000000000000000000000001',
    'request=none',
  ];
  const days = (count: number) => spanAt(nowMs - count * 86_400_000, 'day');
  const windows = [
    ['24h', days(1)],
    ['30d', days(29)],
  ] as const;
  return windows.flatMap(([window, from]) =>
    filters.map((filter) => ({ window, path: `/v1/request-log?from=${from}&limit=50&${filter}` })),
  );
}

function pathOf(question: Question | undefined): string[] {
  if (question === undefined) return [];
  const given = Object.entries(question.query).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value]],
  );
  return [`/v1/${question.what}?${new URLSearchParams(given)}`];
}
