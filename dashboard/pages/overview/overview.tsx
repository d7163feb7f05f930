// How is the installation doing? Spend, requests, outcomes, latency and problems.

import { useMemo } from 'preact/hooks';
import type { KeyRow, KeyRowsAnswer } from '../../api-types.ts';
import { snippetsFor } from '../keys/snippets.ts';
import { periodWords, stateWords } from '../keys/words.ts';
import {
  Actions,
  Answered,
  Badge,
  Code,
  Empty,
  LastUsed,
  Meter,
  NoLedger,
  Notice,
} from '../parts/basics.tsx';
import { Choice } from '../parts/fields.tsx';
import { Table } from '../parts/table.tsx';
import { everyMinuteMs, mayAnywhere, useAsked, useNow, useRights } from '../shell/asking.tsx';
import { Link, useShell } from '../shell/context.tsx';
import { readFilters, writeFilters } from '../shell/filters.ts';
import { pathOf } from '../shell/place.ts';
import { Chart } from './chart.tsx';
import type { BudgetsAnswer, NamespacesAnswer, RequestsAnswer, SeriesAnswer, SeriesRow } from './ledger.ts';
import { monthOf, PERIODS, type Period, type PeriodQuery, periodQuery } from './period.ts';
import {
  GROUPINGS,
  type Grouping,
  MEASURES,
  type Measure,
  overviewQuestions,
  type Question,
} from './questions.ts';
import { stackRows } from './stack.ts';
import { requestTotals } from './totals.ts';
import { WentWrong } from './went-wrong.tsx';

const spec = {
  period: { usual: '24h', words: PERIODS },
  by: { usual: 'model', words: GROUPINGS },
  measure: { usual: 'cost', words: MEASURES },
} as const;

const measureWords = { cost: 'Spend', tokens: 'Tokens', requests: 'Requests' } as const;

/** A request counts at its first provider; a provider receives attempts. */
const countedWords = (measure: Measure, by: Grouping) =>
  measure === 'requests' && by === 'provider' ? 'Attempts' : measureWords[measure];

export function Overview() {
  const { api, session, namespace, path, search, go, formats } = useShell();
  const filters = readFilters(spec, search);
  const period = filters.period as Period;
  // Only people who may see the whole platform see which providers serve a route.
  const by = (filters.by === 'provider' && namespace !== undefined ? 'model' : filters.by) as Grouping;
  const measure = filters.measure as Measure;
  const change = (changes: Partial<Record<keyof typeof spec, string>>) =>
    go(`${path}${writeFilters(spec, search, changes)}`, { replaces: true });

  const nowMs = useNow(everyMinuteMs);
  const query = useMemo(() => periodQuery(period, nowMs), [period, nowMs]);
  const questions = overviewQuestions({ namespace, query, by, measure }, nowMs);
  // Another period or grouping keeps the old figures while it loads; another namespace does not.
  const place = `overview of ${namespace ?? '*'}`;
  const call = <Answer,>({ what, query }: Question, signal: AbortSignal) =>
    api.call<Answer>(`ledger/v1/${what}`, { query, signal });
  // One question, so that both are of the same time.
  const used = useAsked(
    session.hasLedger ? `used in ${period} ${place}` : undefined,
    async (signal) => {
      const [requests, whole] = await Promise.all([
        call<RequestsAnswer>(questions.requests, signal),
        call<SeriesAnswer>(questions.whole, signal),
      ]);
      return { requests, whole, query };
    },
    place,
    nowMs,
  );
  const series = useAsked(
    session.hasLedger ? `series ${by} ${measure} ${period} ${place}` : undefined,
    async (signal) => ({ ...(await call<SeriesAnswer>(questions.series, signal)), by, measure, query }),
    place,
    nowMs,
  );
  const month = monthOf(nowMs);
  // A new month starts empty.
  const ofMonth = <Answer,>(question: Question | undefined) =>
    useAsked(
      session.hasLedger && question !== undefined ? `${question.what} of ${month} in ${place}` : undefined,
      (signal) => call<Answer>(question as Question, signal),
      undefined,
      nowMs,
    );
  const spent = ofMonth<NamespacesAnswer>(questions.spent);
  const own = ofMonth<BudgetsAnswer>(questions.own);
  const usedUp = ofMonth<BudgetsAnswer>(questions.usedUp);
  // One row of figures has one state: loading or outdated if one of them is.
  const figures = [used, spent, own];
  const keys = useAsked(
    `recent keys in ${place}`,
    (signal) =>
      api.call<KeyRowsAnswer>('rows/apikeys', {
        query: { namespace, sort: 'lastUsed', order: 'desc', limit: 5 },
        signal,
      }),
    place,
    nowMs,
  );

  return (
    <>
      <div class="head">
        <div>
          <h1 tabIndex={-1}>Overview</h1>
          <p class="faint small">Since {formats.time((used.answer?.query ?? query).starts[0] ?? '')}</p>
        </div>
        <Choice<Period>
          label="Period"
          value={period}
          onInput={(next) => change({ period: next })}
          options={PERIODS.map((value) => ({
            value,
            label: { '1h': '1 h', '24h': '24 h', '7d': '7 days', '30d': '30 days' }[value],
          }))}
        />
      </div>
      {keys.answer?.total === 0 && <FirstKey />}
      {!session.hasLedger && <NoLedger>usage and spend are not recorded</NoLedger>}
      {session.hasLedger && (
        <>
          <Answered
            asked={{
              ...used,
              error: figures.find(({ error }) => error)?.error,
              isAsking: figures.some(({ isAsking }) => isAsking),
              again: () => {
                for (const { again } of figures) again();
              },
            }}
            what="Usage"
          >
            {(answer) => <Tiles {...answer} spent={spent.answer} budgets={own.answer} />}
          </Answered>
          <section class="panel" aria-labelledby="chart-heading">
            <div class="head">
              <h2 id="chart-heading">
                {countedWords(series.answer?.measure ?? measure, series.answer?.by ?? by)} over time
              </h2>
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
                    (value) => ({
                      value,
                      label: { model: 'Model', apiKey: 'Key', namespace: 'Namespace', provider: 'Provider' }[
                        value
                      ],
                    }),
                  )}
                />
              </div>
            </div>
            <Answered asked={series} what="Chart">
              {(answer) => <Series {...answer} />}
            </Answered>
          </section>
        </>
      )}
      <div class="columns">
        <WentWrong budgets={usedUp} nowMs={nowMs} period={period} question={questions.health} />
        <section class="panel" aria-labelledby="recent-heading">
          <h2 id="recent-heading">Recently used keys</h2>
          <Answered asked={keys} what="Keys">
            {({ rows }) => (rows.length === 0 ? <Empty title="No keys yet" /> : <RecentKeys rows={rows} />)}
          </Answered>
          <p>
            <Link to="/keys">All keys</Link>
          </p>
        </section>
      </div>
    </>
  );
}

function Tiles({
  requests,
  whole,
  spent,
  budgets,
}: {
  readonly requests: RequestsAnswer;
  readonly whole: SeriesAnswer;
  readonly spent: NamespacesAnswer | undefined;
  readonly budgets: BudgetsAnswer | undefined;
}) {
  const { formats, namespace } = useShell();
  const totals = requestTotals(requests);
  const sum = (of: (row: SeriesRow) => number) => whole.rows.reduce((all, row) => all + of(row), 0);
  const month = (spent?.namespaces ?? []).reduce((all, { month: { costUsd } }) => all + Number(costUsd), 0);
  const [own] = (budgets?.budgets ?? [])
    .filter((one) => one.apiKey === undefined && one.namespace === namespace)
    .sort((a, b) => b.usedShare - a.usedShare);
  const unpriced = sum((row) => row.unpriced);
  return (
    <>
      <ul class="tiles">
        <li class="panel">
          <h2>Spend this month</h2>
          <p class="figure">{spent === undefined ? '–' : formats.money(month)}</p>
          {own !== undefined && (
            <Meter share={own.usedShare} label={`${formats.percent(own.usedShare)} of the budget`} />
          )}
          <p class="hint">
            {own !== undefined &&
              `${formats.money(own.costUsd)} of ${formats.money(own.limitUsd)} / ${periodWords(own.period)} · `}
            {`${formats.money(sum((row) => Number(row.costUsd)))} in the selected period`}
            {unpriced > 0 && ` · ${formats.number(unpriced)} without a price`}
          </p>
        </li>
        <li class="panel">
          <h2>Requests</h2>
          <p class="figure">{formats.compact(totals.requests)}</p>
          <p class="hint">
            {totals.refused > 0
              ? `sent to providers · ${formats.number(totals.refused)} rejected there`
              : 'sent to providers'}
          </p>
        </li>
        <li class="panel">
          <h2>Tokens</h2>
          <p class="figure">{formats.compact(sum(({ tokens }) => tokens.input + tokens.output))}</p>
          <p class="hint">
            {`${formats.compact(sum(({ tokens }) => tokens.input))} in · ${formats.compact(sum(({ tokens }) => tokens.output))} out`}
          </p>
        </li>
        <li class="panel">
          <h2>Error rate</h2>
          <p class="figure">{formats.percent(totals.errorRate)}</p>
          <p class="hint">{formats.number(totals.errors)} failed or were cut off</p>
        </li>
        <li class="panel">
          <h2>Time to first token</h2>
          <p class="figure">
            {totals.firstContentMs === undefined ? '–' : formats.milliseconds(totals.firstContentMs.p50)}
          </p>
          <p class="hint">
            {totals.firstContentMs === undefined
              ? 'no streams yet'
              : `median · p90 ${formats.milliseconds(totals.firstContentMs.p90)} · p99 ${formats.milliseconds(totals.firstContentMs.p99)}`}
          </p>
        </li>
      </ul>
      <p class="faint small">
        Requests and errors count calls that were sent to a provider. Calls that the gateway refuses itself,
        such as those over a limit, are in its metric <code>penstock_requests_total</code>.
      </p>
    </>
  );
}

function Series({
  rows,
  isTruncated,
  by,
  measure,
  query,
}: SeriesAnswer & {
  readonly by: Grouping;
  readonly measure: Measure;
  readonly query: PeriodQuery;
}) {
  const { formats } = useShell();
  const stack = useMemo(
    () =>
      stackRows(
        rows.map((row) => ({
          start: row[query.interval] ?? '',
          group: row.isRest === true ? undefined : row[by] || 'none',
          value:
            measure === 'cost'
              ? Number(row.costUsd)
              : measure === 'tokens'
                ? row.tokens.input + row.tokens.output
                : by === 'provider'
                  ? row.attempts
                  : row.requests,
        })),
        query.starts,
      ),
    [rows, by, measure, query],
  );
  const labels = useMemo(
    () =>
      query.starts.map((start) =>
        query.interval === 'day'
          ? { short: formats.day(start), whole: `${formats.day(start)} (UTC)` }
          : { short: formats.hour(start), whole: formats.time(start) },
      ),
    [query, formats],
  );
  if (stack.total === 0)
    return (
      <Empty title="No usage in this period">
        <p>Choose a longer period or another namespace.</p>
      </Empty>
    );
  const format =
    measure === 'cost' ? (value: number) => formats.money(value) : (value: number) => formats.compact(value);
  return (
    <>
      {isTruncated && (
        <Notice tone="warn">
          <p>
            The result is incomplete: the ledger returns only so many rows at once. Choose a shorter period or
            a namespace.
          </p>
        </Notice>
      )}
      <Chart label={`${countedWords(measure, by)} over time`} stack={stack} labels={labels} format={format} />
    </>
  );
}

function RecentKeys({ rows }: { readonly rows: readonly KeyRow[] }) {
  const { formats } = useShell();
  return (
    <Table<KeyRow>
      caption="Recently used keys"
      rows={rows}
      keyOf={({ uid }) => uid}
      columns={[
        {
          label: 'Name',
          cell: (row) => (
            <>
              <Link to={pathOf('keys', row.namespace, row.name)}>{row.name}</Link>
              <span class="under">{row.namespace}</span>
            </>
          ),
        },
        {
          label: 'State',
          cell: (row) => {
            const { word, tone } = stateWords(row);
            return <Badge tone={tone}>{word}</Badge>;
          },
        },
        {
          label: 'This month',
          isNumber: true,
          cell: ({ spend }) => (spend?.month ? formats.money(spend.month) : '–'),
        },
        { label: 'Last used', cell: ({ lastUsedAt }) => <LastUsed at={lastUsedAt} /> },
      ]}
    />
  );
}

/** An installation without keys: one thing to do. */
function FirstKey() {
  const { session, namespace, go } = useShell();
  const mayHere = useRights(namespace);
  const address = session.gatewayUrl ?? 'https://gateway.example.com';
  const [curl] = snippetsFor(address, 'YOUR_KEY', 'your-model');
  return (
    <section class="panel first" aria-labelledby="first-heading">
      <h2 id="first-heading">Create your first key</h2>
      <p>Programs call models with a key and the SDK they already use.</p>
      <Actions
        may={namespace === undefined ? mayAnywhere : mayHere}
        actions={[
          { label: 'Create key', right: 'create apikeys', look: 'main', onClick: () => go('/keys/new') },
        ]}
      />
      <dl class="facts">
        <div>
          <dt>OpenAI SDK, Codex</dt>
          <dd>
            <code>{address}/v1</code>
          </dd>
        </div>
        <div>
          <dt>Anthropic SDK, Claude Code</dt>
          <dd>
            <code>{address}</code> (without /v1)
          </dd>
        </div>
      </dl>
      {curl !== undefined && <Code text={curl.text} label="First request" />}
    </section>
  );
}
