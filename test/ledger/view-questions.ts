// What do the views of a dashboard ask the ledger? What its own code asks, of all and of one namespace, and what else a first screen may.

import { PERIODS, periodQuery } from '../../dashboard/pages/overview/period.ts';
import {
  GROUPINGS,
  MEASURES,
  overviewQuestions,
  type Question,
} from '../../dashboard/pages/overview/questions.ts';
import { spendsQuestion } from '../../dashboard/rows/spends.ts';

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
          Object.values(overviewQuestions({ namespace: where, query, by, measure }, nowMs)),
        ),
      );
      const { path, search } = spendsQuestion(nowMs, where);
      const others = ['/v1/sums?', '/v1/models?', '/v1/keys?limit=50&', '/v1/namespaces?'].map(
        (one) =>
          `${one}${new URLSearchParams({ from, to, ...(where === undefined ? {} : { namespace: where }) })}`,
      );
      return [...ofOverview.flatMap(pathOf), `${path}${search}`, ...others].map((one) => ({
        path: one,
        window,
      }));
    }),
  );
  const ofObjects = [
    'provider=platform%2Fp0',
    ...['', `&namespace=${namespace}`].map((where) => `route=platform%2Fmodel-0${where}`),
  ];
  const ofPages = ofObjects.map((of) => ({ path: `/v1/health?${of}`, window: '30d' }));
  return [...new Map([...asked, ...ofPages].map((question) => [question.path, question])).values()];
}

function pathOf(question: Question | undefined): string[] {
  if (question === undefined) return [];
  const given = Object.entries(question.query).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value]],
  );
  return [`/v1/${question.what}?${new URLSearchParams(given)}`];
}
