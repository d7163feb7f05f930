// Which groups used most? A short list with a bar for each share of the whole, and as CSV.

import { Empty } from '../parts/basics.tsx';
import { CsvButton } from '../parts/csv.tsx';
import { Link, useShell } from '../shell/context.tsx';
import { measureWords, moneyOf } from './charts.tsx';
import type { Measure } from './questions.ts';
import type { TopRow } from './tops.ts';

interface TopListProps {
  readonly rows: readonly TopRow[];
  readonly measure: Measure;
  /** Such as `Top models`. */
  readonly what: string;
  readonly linkOf: (name: string) => string | undefined;
}

export function TopList({ rows, measure, what, linkOf }: TopListProps) {
  const { formats } = useShell();
  const whole = rows.reduce((sum, row) => sum + row[measure], 0);
  const format = measure === 'cost' ? moneyOf(whole, formats) : formats.compact;
  if (whole === 0) return <Empty title="Nothing in this period" />;
  return (
    <>
      <ol class="shares">
        {rows.map((row) => {
          const { name, isRest } = row;
          const value = row[measure];
          const to = isRest ? undefined : linkOf(name);
          return (
            <li key={name}>
              <span class={isRest ? 'share-name faint' : 'share-name'}>
                {to === undefined ? name : <Link to={to}>{name}</Link>}
              </span>
              <span class="share-value">
                {format(value)} <span class="faint">{formats.percent(value / whole)}</span>
              </span>
              <svg class="share" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
                <rect class="meter-all" width="100" height="4" />
                <rect class={isRest ? 'share-rest' : 'share-used'} width={(value / whole) * 100} height="4" />
              </svg>
            </li>
          );
        })}
      </ol>
      <p class="csv">
        <CsvButton
          what={`${what} by ${measureWords[measure].toLowerCase()}`}
          head={['Name', 'Requests', 'Tokens', 'USD']}
          rows={() =>
            rows.map(({ name, requests, tokens, cost }) => [name, requests, tokens, cost.toFixed(12)])
          }
        />
      </p>
    </>
  );
}
