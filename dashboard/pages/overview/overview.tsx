// How is the installation doing? What is wrong, how much, and by whom: problems first, then six figures, then their course and the largest
// users.

import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { KeyRowsAnswer, OwnersAnswer } from '../../api-types.ts';
import { Answered, NoLedger } from '../parts/basics.tsx';
import { Choice } from '../parts/fields.tsx';
import { Updated } from '../parts/updated.tsx';
import { requestsLink } from '../requests/link.ts';
import { everyMinuteMs, useAsked } from '../shell/asking.tsx';
import { useShell } from '../shell/context.tsx';
import { readFilters, writeFilters } from '../shell/filters.ts';
import { pathOf } from '../shell/place.ts';
import { serverClock } from '../shell/server-clock.ts';
import { Alerts } from './alerts.tsx';
import {
  FailedChart,
  groupWords,
  LatencyChart,
  measureWords,
  Panel,
  RefusedChart,
  UseChart,
} from './charts.tsx';
import { Figures } from './figures.tsx';
import { FirstCall, FirstCame } from './first-call.tsx';
import type { RefusalsAnswer, RequestsAnswer, SeriesAnswer } from './ledger.ts';
import { PERIOD_LABELS, PERIODS, type Period, periodQuery, periodThatHolds } from './period.ts';
import {
  failedBy,
  firstQuestions,
  GROUPINGS,
  type Grouping,
  MEASURES,
  type Measure,
  overviewQuestions,
  type Question,
} from './questions.ts';
import { TopList } from './top-list.tsx';
import { topRows } from './tops.ts';

const spec = {
  /** Empty: the shortest that holds the data. */
  period: { usual: '', words: PERIODS },
  by: { usual: 'model', words: GROUPINGS },
  measure: { usual: 'cost', words: MEASURES },
  /** Model of the time to first token; empty: all models. */
  first: { usual: '' },
} as const;

/** Where a column is a minute. */
const soonMs = 15_000;
const daysMs = 5 * everyMinuteMs;

export function Overview() {
  const { api, session, namespace, path, search, go, formats } = useShell();
  const filters = readFilters(spec, search);
  // Only users with the right to see the whole platform see which providers serve a route.
  const by = (filters.by === 'provider' && namespace !== undefined ? 'model' : filters.by) as Grouping;
  const measure = filters.measure as Measure;
  const change = (changes: Partial<Record<keyof typeof spec, string>>) =>
    go(`${path}${writeFilters(spec, search, changes)}`, { replaces: true });
  // Another period or grouping keeps the old figures while it loads; another namespace does not.
  const place = `overview of ${namespace ?? '*'}`;
  const call = <Answer,>({ what, query }: Question, signal: AbortSignal) =>
    api.call<Answer>(`ledger/v1/${what}`, { query, signal });

  // Asked once: the chosen period must not change while the user looks at it.
  const held = useAsked(session.hasLedger ? `periods of ${place}` : undefined, async (signal) => {
    const atMs = serverClock.now();
    const rowsOf = async (question: Question) => {
      const { rows } = await call<SeriesAnswer>(question, signal);
      return rows.map(({ minute, hour, day, attempts, refused = 0 }) => ({
        start: minute ?? hour ?? day ?? '',
        requests: attempts + refused,
      }));
    };
    const { minutes, hours, days } = firstQuestions(namespace, atMs);
    const filled = await Promise.all([minutes, hours, days].map(rowsOf));
    return { period: periodThatHolds(filled[0] ?? [], filled[1] ?? [], filled[2] ?? [], atMs) };
  });
  const isEmpty = held.answer !== undefined && held.answer.period === undefined;
  const hasWaited = useRef(false);
  if (isEmpty) hasWaited.current = true;
  const isKnown = held.answer !== undefined || held.error !== undefined || filters.period !== '';
  const period = (filters.period || held.answer?.period || '24h') as Period;

  const [nowMs, refresh] = useMoment(period === '15m' || period === '1h' ? soonMs : everyMinuteMs);
  const query = useMemo(() => periodQuery(period, nowMs), [period, nowMs]);
  const questions = overviewQuestions({ namespace, query, by, measure });
  const isAsked = session.hasLedger && isKnown && !isEmpty;
  const when = (text: string | undefined) => (isAsked ? text : undefined);
  // Over many days, what sums do not have is the most that is asked of the ledger here.
  const slowMs = query.interval === 'day' ? Math.floor(nowMs / daysMs) : nowMs;
  // One question, so that all figures are of the same time.
  const used = useAsked(
    when(`used in ${period} ${place}`),
    async (signal) => {
      const [requests, whole, refusals, refusedKeys] = await Promise.all([
        call<RequestsAnswer>(questions.requests, signal),
        call<SeriesAnswer>(questions.whole, signal),
        call<RefusalsAnswer>(questions.refused, signal),
        call<RefusalsAnswer>(questions.refusedKeys, signal),
      ]);
      return { requests, whole, refusals, refusedKeys, query, period, atMs: serverClock.now() };
    },
    place,
    nowMs,
  );
  const series = useAsked(
    when(`series ${by} ${measure} ${period} ${place}`),
    async (signal) => ({ ...(await call<SeriesAnswer>(questions.series, signal)), by, measure, query }),
    place,
    nowMs,
  );
  const failed = useAsked(
    when(`failed ${failedBy(by)} ${period} ${place}`),
    async (signal) => ({
      ...(await call<SeriesAnswer>(questions.failed, signal)),
      by: failedBy(by),
      query,
    }),
    place,
    nowMs,
  );
  const ofModel = useAsked(
    when(filters.first === '' ? undefined : `first tokens of ${filters.first} in ${period} ${place}`),
    async (signal) => ({
      requests: await call<RequestsAnswer>(questions.requestsOf(filters.first), signal),
      query,
    }),
    `first tokens of ${filters.first} in ${place}`,
    slowMs,
  );
  const top = (name: 'models' | 'keys') =>
    useAsked(
      when(`top ${name} by ${measure} in ${period} ${place}`),
      async (signal) => ({ ...(await call<SeriesAnswer>(questions[name], signal)), measure }),
      place,
      nowMs,
    );
  const models = top('models');
  const keys = top('keys');
  const owners = useAsked(
    when(`owners by ${measure} in ${period} ${place}`),
    async (signal) => ({
      ...(await api.call<OwnersAnswer>('owners', {
        query: { namespace, from: query.from, to: query.to, topBy: measure },
        signal,
      })),
      measure,
    }),
    place,
    slowMs,
  );
  const hasKeys = useAsked(
    isEmpty || !session.hasLedger ? `any key in ${place}` : undefined,
    async (signal) => {
      const { total } = await api.call<KeyRowsAnswer>('rows/apikeys', {
        query: { namespace, limit: 1 },
        signal,
      });
      return total > 0;
    },
  );
  const since = (used.answer?.query ?? query).starts[0] ?? '';

  return (
    <>
      <div class="head">
        <div>
          <h1 tabIndex={-1}>Overview</h1>
          {!isEmpty && <p class="faint small">Since {formats.time(since)}</p>}
        </div>
        {!isEmpty && session.hasLedger && (
          <div class="row">
            <Updated atMs={used.answer?.atMs} onRefresh={refresh} />
            <Choice<Period>
              label="Period"
              value={period}
              onInput={(next) => change({ period: next })}
              options={PERIODS.map((value) => ({ value, label: PERIOD_LABELS[value] }))}
            />
          </div>
        )}
      </div>
      {(isEmpty || hasKeys.answer === false) && <FirstCall hasKeys={hasKeys.answer} waiting={held} />}
      {hasWaited.current && !isEmpty && <FirstCame answer={keys.answer} />}
      <Alerts nowMs={nowMs} period={period} budgets={questions.budgets} health={questions.health} />
      {!session.hasLedger && <NoLedger>usage and spend are not recorded</NoLedger>}
      {session.hasLedger && !isEmpty && (
        <>
          <Answered asked={used} what="Usage">
            {(answer) => <Figures {...answer} />}
          </Answered>
          <div class="head">
            <h2>Use</h2>
            <div class="row">
              <Choice<Measure>
                label="Measure"
                value={measure}
                onInput={(next) => change({ measure: next })}
                options={MEASURES.map((value) => ({ value, label: measureWords[value] }))}
              />
              <Choice<Grouping>
                label="Group by"
                value={by}
                onInput={(next) => change({ by: next })}
                options={GROUPINGS.filter((value) => value !== 'provider' || namespace === undefined).map(
                  (value) => ({ value, label: groupWords[value] }),
                )}
              />
            </div>
          </div>
          <div class="columns">
            <UseChart asked={series} measure={measure} />
            <FailedChart asked={failed} />
            <LatencyChart
              asked={filters.first === '' ? used : ofModel}
              model={filters.first}
              models={topRows(models.answer?.rows ?? [], 'model', 'requests').flatMap(({ name, isRest }) =>
                isRest ? [] : [name],
              )}
              onModel={(model) => change({ first: model })}
            />
            <RefusedChart asked={used} />
          </div>
          <div class="tops">
            <Panel title="Top models">
              <Answered asked={models} what="Models">
                {(answer) => (
                  <TopList
                    rows={topRows(answer.rows, 'model', answer.measure)}
                    measure={answer.measure}
                    what="Top models"
                    linkOf={(model) => requestsLink({ model, period })}
                  />
                )}
              </Answered>
            </Panel>
            <Panel title="Top keys">
              <Answered asked={keys} what="Keys">
                {(answer) => (
                  <TopList
                    rows={topRows(answer.rows, 'apiKey', answer.measure)}
                    measure={answer.measure}
                    what="Top keys"
                    linkOf={(key) => {
                      const [of = '', name = ''] = key.split('/');
                      return pathOf('keys', of, name);
                    }}
                  />
                )}
              </Answered>
            </Panel>
            {(['owners', 'teams'] as const).map((kind) => (
              <Panel key={kind} title={`Top ${kind}`}>
                <Answered asked={owners} what={kind === 'owners' ? 'Owners' : 'Teams'}>
                  {(answer) => (
                    <TopList
                      rows={answer[kind]}
                      measure={answer.measure}
                      what={`Top ${kind}`}
                      linkOf={(name) =>
                        name === NO_OWNER ? undefined : `/keys?q=${encodeURIComponent(name)}`
                      }
                    />
                  )}
                </Answered>
              </Panel>
            ))}
          </div>
        </>
      )}
    </>
  );
}

/** The server's name of the group without an owner. */
const NO_OWNER = 'none';

/** The current time: updated at this interval, and at once when the user asks. */
function useMoment(everyMs: number): readonly [number, () => void] {
  const [nowMs, setNow] = useState(() => serverClock.now());
  const refresh = useCallback(() => setNow(serverClock.now()), []);
  useEffect(() => {
    const timer = setInterval(refresh, everyMs);
    return () => clearInterval(timer);
  }, [everyMs, refresh]);
  return [nowMs, refresh];
}
