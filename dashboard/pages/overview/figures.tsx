// How is the installation doing, in six figures of one period? Each with its course; none is of more than its whole.

import type { ComponentChildren } from 'preact';
import { Sparkline } from '../parts/sparkline.tsx';
import { requestsLink } from '../requests/link.ts';
import { Link, useShell } from '../shell/context.tsx';
import type { RefusalsAnswer, RequestsAnswer, SeriesAnswer } from './ledger.ts';
import type { Period, PeriodQuery } from './period.ts';
import { errorsOf, figuresOf, isUnserved, overTime, refusedOverTime } from './totals.ts';

interface FiguresProps {
  readonly requests: RequestsAnswer;
  readonly whole: SeriesAnswer;
  readonly refusals: RefusalsAnswer;
  readonly query: PeriodQuery;
  readonly period: Period;
}

export function Figures({ requests, whole, refusals, query, period }: FiguresProps) {
  const { formats } = useShell();
  const { compact, number, percent, milliseconds } = formats;
  const of = figuresOf(requests, whole, refusals);
  const { firstContentMs } = of;
  const link = { period };
  const answered = refusedOverTime(refusals, query);
  const unserved = refusedOverTime(refusals, query, isUnserved);
  const failed = overTime(requests.rows, query, errorsOf, 0);
  const sent = overTime(requests.rows, query, (row) => row.requests, 0);
  return (
    <ul class="tiles">
      <Tile
        name="Requests"
        figure={compact(of.requests)}
        course={<Sparkline values={sent.map((count, at) => count + (answered[at] ?? 0))} />}
        to={requestsLink(link)}
      >
        {of.sent < of.requests ? `${number(of.sent)} sent to providers` : 'all sent to providers'}
        {of.rejected > 0 && ` · ${number(of.rejected)} rejected there`}
      </Tile>
      <Tile
        name="Refused"
        tone={of.refused > 0 ? 'warn' : undefined}
        figure={compact(of.refused)}
        course={<Sparkline values={answered} tone="warn" />}
        to={requestsLink({ ...link, outcome: 'refused' })}
      >
        {of.refused > 0 ? `${percent(of.refused / of.requests)} of all calls` : 'by the gateway'}
        {of.unserved > 0 && ` · ${number(of.unserved)} also count as errors`}
      </Tile>
      <Tile
        name="Errors"
        tone={of.errors > 0 ? 'bad' : undefined}
        figure={percent(of.errorRate)}
        course={<Sparkline values={failed.map((count, at) => count + (unserved[at] ?? 0))} tone="bad" />}
        to={requestsLink({ ...link, outcome: 'error' })}
      >
        {`${number(of.errors)} of ${number(of.requests)} failed or not served`}
      </Tile>
      <Tile
        name="Time to first token"
        figure={firstContentMs === undefined ? '–' : milliseconds(firstContentMs.p50)}
        course={
          <Sparkline values={overTime(requests.rows, query, (row) => row.firstContentMs?.p50, undefined)} />
        }
      >
        {firstContentMs === undefined ? (
          'no streams yet'
        ) : (
          <>
            median · <span class="whole">p90 {milliseconds(firstContentMs.p90)}</span> ·{' '}
            <span class="whole">p99 {milliseconds(firstContentMs.p99)}</span>
          </>
        )}
      </Tile>
      <Tile
        name="Tokens"
        figure={compact(of.input + of.output)}
        course={
          <Sparkline values={overTime(whole.rows, query, ({ tokens }) => tokens.input + tokens.output, 0)} />
        }
      >
        {`${compact(of.input)} in · ${compact(of.output)} out`}
      </Tile>
      <Tile
        name="Spend"
        figure={formats.money(of.cost)}
        course={<Sparkline values={overTime(whole.rows, query, ({ costUsd }) => Number(costUsd), 0)} />}
      >
        {of.unpriced > 0
          ? `${formats.counted(of.unpriced, 'attempt')} with no price set, not in spend`
          : of.sent === 0
            ? 'no requests'
            : `${formats.money(of.cost / of.sent)} a request`}
      </Tile>
    </ul>
  );
}

interface TileProps {
  readonly name: string;
  readonly figure: string;
  readonly tone?: 'bad' | 'warn' | undefined;
  readonly course: ComponentChildren;
  /** The requests that it counts. */
  readonly to?: string;
  readonly children: ComponentChildren;
}

function Tile({ name, figure, tone, course, to, children }: TileProps) {
  return (
    <li class="panel tile">
      <h2>{to === undefined ? name : <Link to={to}>{name}</Link>}</h2>
      <p class={`figure ${tone ?? ''}`}>{figure}</p>
      {course}
      <p class="hint">{children}</p>
    </li>
  );
}
