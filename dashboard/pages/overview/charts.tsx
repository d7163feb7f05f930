// What happened over time? Use and failures side by side, by the same groups, and how long first tokens took.

import type { ComponentChildren } from 'preact';
import { useId, useMemo } from 'preact/hooks';
import { Answered, Empty, Notice } from '../parts/basics.tsx';
import { SelectField } from '../parts/fields.tsx';
import { requestsLink } from '../requests/link.ts';
import type { Asked } from '../shell/asking.tsx';
import { Link, useShell } from '../shell/context.tsx';
import { codeWords } from '../words/calls.ts';
import type { Formats } from '../words/format.ts';
import { Chart, type ChartSeries } from './chart.tsx';
import type { FirstContent, RefusalsAnswer, RequestsAnswer, SeriesAnswer, SeriesRow } from './ledger.ts';
import type { Period, PeriodQuery } from './period.ts';
import type { Grouping, Measure } from './questions.ts';
import { largestOf, stackRows } from './stack.ts';
import { overTime } from './totals.ts';

export const measureWords = { cost: 'Spend', tokens: 'Tokens', requests: 'Requests' } as const;
export const groupWords = {
  model: 'Model',
  apiKey: 'Key',
  namespace: 'Namespace',
  provider: 'Provider',
} as const;

/** With the interval of its question: the shown answer may be of an earlier question. */
export interface Stacked extends SeriesAnswer {
  readonly by: Grouping;
  readonly query: PeriodQuery;
}

/** A request counts at its first provider; a provider receives attempts. */
const countedWords = (measure: Measure, by: Grouping) =>
  measure === 'requests' && by === 'provider' ? 'Attempts' : measureWords[measure];

export function UseChart({
  asked,
  measure: wanted,
}: {
  readonly asked: Asked<Stacked & { readonly measure: Measure }>;
  readonly measure: Measure;
}) {
  const { formats } = useShell();
  const measure = asked.answer?.measure ?? wanted;
  const title = `${countedWords(measure, asked.answer?.by ?? 'model')} over time`;
  return (
    <Panel title={title}>
      <Answered asked={asked} what="Chart">
        {(answer) => (
          <Stack
            {...answer}
            label={title}
            none="No usage in this period"
            isWhole={measure === 'requests'}
            value={(row) =>
              measure === 'cost'
                ? Number(row.costUsd)
                : measure === 'tokens'
                  ? row.tokens.input + row.tokens.output
                  : answer.by === 'provider'
                    ? row.attempts
                    : row.requests
            }
            formatOf={(total) => (measure === 'cost' ? moneyOf(total, formats) : formats.compact)}
            {...(measure === 'cost' ? { formatTick: formats.money } : {})}
          />
        )}
      </Answered>
    </Panel>
  );
}

/** Cents; of little, the digits that say something. */
export function moneyOf(total: number, formats: Formats): (usd: number) => string {
  return total >= 1 ? formats.amount : formats.money;
}

export function FailedChart({ asked }: { readonly asked: Asked<Stacked> }) {
  const { formats } = useShell();
  return (
    <Panel title="Failed attempts over time">
      <Answered asked={asked} what="Failures">
        {(answer) => (
          <Stack
            {...answer}
            label="Failed attempts over time"
            none="No failed attempts in this period"
            isWhole
            value={(row) => row.failed ?? 0}
            formatOf={() => formats.compact}
          />
        )}
      </Answered>
    </Panel>
  );
}

function Stack({
  rows,
  isTruncated,
  by,
  query,
  label,
  none,
  isWhole,
  value,
  formatOf,
  formatTick,
}: Stacked & {
  readonly label: string;
  readonly none: string;
  readonly isWhole: boolean;
  readonly value: (row: SeriesRow) => number;
  readonly formatOf: (total: number) => (value: number) => string;
  readonly formatTick?: (value: number) => string;
}) {
  const stack = useMemo(
    () =>
      stackRows(
        rows.map((row) => ({
          start: row[query.interval] ?? '',
          group: row.isRest === true ? undefined : row[by] || 'none',
          value: value(row),
        })),
        query.starts,
      ),
    // The value is of the same answer.
    [rows, by, query],
  );
  if (stack.total === 0) return <Empty title={none} />;
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
      <Chart
        label={label}
        kind="columns"
        series={stack.groups}
        query={query}
        isWhole={isWhole}
        format={formatOf(stack.total)}
        {...(formatTick === undefined ? {} : { formatTick })}
      />
    </>
  );
}

const percentiles = [
  ['p50', 'median'],
  ['p90', 'p90'],
  ['p99', 'p99'],
] as const satisfies readonly (readonly [keyof FirstContent, string])[];

interface LatencyProps {
  readonly asked: Asked<{ readonly requests: RequestsAnswer; readonly query: PeriodQuery }>;
  /** Empty: of all. */
  readonly model: string;
  readonly models: readonly string[];
  readonly onModel: (model: string) => void;
}

export function LatencyChart({ asked, model, models, onModel }: LatencyProps) {
  const { formats } = useShell();
  const title = 'Time to first token';
  return (
    <Panel title={title}>
      <SelectField
        label="Model"
        value={model}
        onInput={onModel}
        options={[
          { value: '', label: 'All models' },
          ...[...new Set([...models, ...(model === '' ? [] : [model])])].map((value) => ({
            value,
            label: value,
          })),
        ]}
        isHiddenLabel
      />
      <Answered asked={asked} what={title}>
        {({ requests: { total, rows }, query }) => {
          const { firstContentMs } = total;
          if (firstContentMs === undefined) return <Empty title="No streams in this period" />;
          const series = percentiles.map(
            ([percentile, name]): ChartSeries => ({
              name,
              total: firstContentMs[percentile],
              values: overTime(rows, query, (row) => row.firstContentMs?.[percentile], undefined),
            }),
          );
          return (
            <Chart
              label={title}
              kind="lines"
              series={series}
              query={query}
              isWhole
              format={formats.milliseconds}
            />
          );
        }}
      </Answered>
    </Panel>
  );
}

export interface Refused {
  readonly refusals: RefusalsAnswer;
  readonly refusedKeys: RefusalsAnswer;
  readonly query: PeriodQuery;
  readonly period: Period;
}

const refusedKeysMax = 3;

/** Refused callers, and why: a caller over a limit calls again and again. */
export function RefusedChart({ asked }: { readonly asked: Asked<Refused> }) {
  const { formats } = useShell();
  const title = 'Refused over time';
  return (
    <Panel title={title}>
      <Answered asked={asked} what="Refusals">
        {({ refusals, refusedKeys, query, period }) => {
          const rows = refusals.rows.map(({ refused, code = 'unknown', ...row }) => ({
            start: row[query.interval] ?? '',
            group: codeWords(code),
            value: refused,
          }));
          const stack = stackRows(largestOf(rows), query.starts);
          if (stack.total === 0) return <Empty title="Nothing refused in this period" />;
          const keys = [...refusedKeys.rows].sort((a, b) => b.refused - a.refused).slice(0, refusedKeysMax);
          return (
            <>
              <Chart
                label={title}
                kind="columns"
                series={stack.groups}
                query={query}
                isWhole
                format={formats.compact}
              />
              <p class="refused-keys">
                Most:{' '}
                {keys.map(({ apiKey, refused }, at) => (
                  <span key={apiKey}>
                    {at > 0 && ' · '}
                    {apiKey === undefined ? (
                      'unknown keys'
                    ) : (
                      <Link to={requestsLink({ apiKey, outcome: 'refused', period })}>{apiKey}</Link>
                    )}{' '}
                    {formats.number(refused)}
                  </span>
                ))}
              </p>
            </>
          );
        }}
      </Answered>
    </Panel>
  );
}

export function Panel({ title, children }: { readonly title: string; readonly children: ComponentChildren }) {
  const id = useId();
  return (
    <section class="panel" aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      {children}
    </section>
  );
}
