// How much was spent with one key? In the periods of its budgets with their pace, and over thirty days by model.

import { useMemo } from 'preact/hooks';
import { Chart } from '../overview/chart.tsx';
import { moneyOf } from '../overview/charts.tsx';
import type { BudgetsAnswer, SeriesAnswer } from '../overview/ledger.ts';
import { usedUpAt } from '../overview/pace.ts';
import { periodQuery } from '../overview/period.ts';
import { stackRows } from '../overview/stack.ts';
import { Ago, Empty, Meter } from '../parts/basics.tsx';
import { requestsLink } from '../requests/link.ts';
import { everyMinuteMs, useAsked, useNow } from '../shell/asking.tsx';
import { Link, useShell } from '../shell/context.tsx';
import { codeWords } from '../words/calls.ts';
import type { ApiKey } from '../words/kube.ts';
import { sinceWords } from './words.ts';

interface RefusalsAnswer {
  readonly total: { readonly refused: number };
  readonly rows: readonly { readonly code: string; readonly refused: number }[];
}

/** Others are one colour together. */
const modelsMax = '5';

export function Spend({ apiKey }: { readonly apiKey: ApiKey }) {
  const { session, formats } = useShell();
  const nowMs = useNow();
  const usage = apiKey.status?.usage;
  const budgets = useBudgets(apiKey);
  return (
    <>
      {usage === undefined ? (
        <Empty title={session.hasLedger ? 'Not used yet' : 'Usage is not recorded: there is no ledger'} />
      ) : (
        <ul class="plain-list spend-list">
          {(usage.periods ?? []).map(
            ({ period, start, spend = '0', limit, requests, inputTokens, outputTokens }) => {
              const share = limit === undefined ? 0 : Number(limit) === 0 ? 1 : Number(spend) / Number(limit);
              const budget = budgets.find((one) => one.period === period);
              const pace = budget && usedUpAt(budget, nowMs);
              return (
                <li key={period}>
                  <p>
                    <strong>{formats.money(spend)}</strong>{' '}
                    {limit !== undefined && <>of {formats.money(limit)} </>}
                    <span class="faint">{sinceWords(period, start, nowMs, formats)}</span>
                  </p>
                  {limit !== undefined && (
                    <Meter share={share} label={`${formats.money(spend)} of ${formats.money(limit)} used`} />
                  )}
                  {pace !== undefined && <p>At this pace it is used up {formats.time(pace)}.</p>}
                  <p class="faint small">
                    {formats.counted(requests ?? 0, 'request')} · {formats.compact(inputTokens ?? 0)} tokens
                    in · {formats.compact(outputTokens ?? 0)} out
                  </p>
                </li>
              );
            },
          )}
        </ul>
      )}
      {usage?.observedAt !== undefined && (
        <p class="faint small">
          Updated <Ago at={usage.observedAt} />.
        </p>
      )}
      {session.hasLedger && <OverTime apiKey={apiKey} />}
    </>
  );
}

/** Budgets from the ledger, because a status does not hold the start of the spend. */
function useBudgets({ metadata: { namespace, name }, spec }: ApiKey): BudgetsAnswer['budgets'] {
  const { api, session } = useShell();
  const moment = Math.floor(useNow() / everyMinuteMs);
  const apiKey = `${namespace}/${name}`;
  const hasBudgets = (spec.budgets ?? []).length > 0;
  const { answer } = useAsked(
    session.hasLedger && hasBudgets ? `budgets of ${apiKey}` : undefined,
    (signal) => api.call<BudgetsAnswer>('ledger/v1/budgets', { query: { namespace, apiKey }, signal }),
    undefined,
    moment,
  );
  return answer?.budgets ?? [];
}

function OverTime({ apiKey: { metadata } }: { readonly apiKey: ApiKey }) {
  const { api, formats } = useShell();
  const { namespace, name } = metadata;
  const moment = Math.floor(useNow() / everyMinuteMs);
  const apiKey = `${namespace}/${name}`;
  const { answer, error } = useAsked(
    `use of ${apiKey}`,
    async (signal) => {
      const query = periodQuery('30d', moment * everyMinuteMs);
      const { from, to, interval } = query;
      const asked = { namespace, apiKey, from, to };
      const byModel = { ...asked, interval, by: 'model', top: modelsMax, topBy: 'cost' };
      const [{ rows }, refused] = await Promise.all([
        api.call<SeriesAnswer>('ledger/v1/series', { query: byModel, signal }),
        api.call<RefusalsAnswer>('ledger/v1/refusals', { query: { ...asked, by: 'code' }, signal }),
      ]);
      return { rows, query, refused };
    },
    undefined,
    moment,
  );
  const shown = useMemo(() => {
    if (answer === undefined) return undefined;
    const { rows, query, refused } = answer;
    const isPriced = rows.some(({ costUsd }) => Number(costUsd) > 0);
    const stack = stackRows(
      rows.map((row) => ({
        start: row.day ?? '',
        group: row.isRest ? undefined : (row.model ?? 'none'),
        value: isPriced ? Number(row.costUsd) : row.requests,
      })),
      query.starts,
    );
    return { isPriced, stack, query, refused };
  }, [answer]);
  if (error !== undefined) return <p class="hint">The last 30 days could not be loaded: {error.message}</p>;
  if (shown === undefined) return null;
  const { isPriced, stack, query, refused } = shown;
  return (
    <>
      {stack.total > 0 && (
        <Chart
          label={isPriced ? 'Spend of 30 days by model' : 'Requests of 30 days by model'}
          kind="columns"
          series={stack.groups}
          query={query}
          isWhole={!isPriced}
          format={isPriced ? moneyOf(stack.total, formats) : formats.compact}
        />
      )}
      {refused.total.refused > 0 && (
        <p>
          <Link to={requestsLink({ apiKey, outcome: 'refused', period: '30d' })}>
            {formats.counted(refused.total.refused, 'request')} refused in 30 days
          </Link>
          {': '}
          {refused.rows
            .map(({ code, refused: count }) => `${codeWords(code)} ${formats.number(count)}`)
            .join(' · ')}
          .
        </p>
      )}
    </>
  );
}
