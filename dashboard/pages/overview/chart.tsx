// How does something look over time? As stacked columns or as lines, with the same figures as a table and as CSV.

import { useEffect, useRef, useState } from 'preact/hooks';
import { CsvButton } from '../parts/csv.tsx';
import { useShell } from '../shell/context.tsx';
import { alone, linePath } from '../words/line-path.ts';
import { timeTicks, valueTicks } from './axis.ts';
import type { PeriodQuery } from './period.ts';
import { columnsOf, withFigures } from './stack.ts';

export interface ChartSeries {
  readonly name: string;
  readonly isRest?: boolean;
  /** Of the whole period. */
  readonly total: number;
  /** For each start; undefined: nothing is known. */
  readonly values: readonly (number | undefined)[];
}

interface ChartProps {
  readonly label: string;
  readonly kind: 'columns' | 'lines';
  /** The largest first. */
  readonly series: readonly ChartSeries[];
  readonly query: Pick<PeriodQuery, 'starts' | 'interval'>;
  readonly format: (value: number) => string;
  /** Under the axis; left out: as `format`. */
  readonly formatTick?: (value: number) => string;
  /** Counts, which have nothing between two of them. */
  readonly isWhole?: boolean;
}

const height = 208;
const top = 8;
const bottom = 24;
const right = 8;

export function Chart(props: ChartProps) {
  const { label, series, query, format } = props;
  const { formats } = useShell();
  const { starts, interval } = query;
  const [pointed, setPointed] = useState<number | undefined>(undefined);
  const at = pointed !== undefined && pointed < starts.length ? pointed : undefined;
  const whole = (place: number) => {
    const start = starts[place] ?? '';
    return interval === 'day' ? `${formats.day(start)} (UTC)` : formats.time(start);
  };
  const shownOf = ({ values, total }: ChartSeries) => {
    const value = at === undefined ? total : values[at];
    return value === undefined ? '–' : format(value);
  };
  return (
    <div class="chart">
      <p class="csv">
        <CsvButton
          what={label}
          head={['From (UTC)', ...series.map(({ name }) => name)]}
          rows={() =>
            starts.map((start, place) => [start, ...series.map(({ values }) => values[place])]).reverse()
          }
        />
      </p>
      <Drawing {...props} pointed={at} onPoint={setPointed} />
      <p class="hint">{at === undefined ? 'Whole period' : whole(at)}</p>
      <ul class="legend">
        {series.map((one, place) => (
          <li key={one.name}>
            <svg class={`swatch series-${place + 1}`} viewBox="0 0 10 10" aria-hidden="true">
              <rect width="10" height="10" rx="2" />
            </svg>
            <span class={one.isRest ? 'faint' : undefined}>{one.name}</span>
            <span class="legend-value">{shownOf(one)}</span>
          </li>
        ))}
      </ul>
      <details class="figures">
        <summary>Figures as a table</summary>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what can be scrolled must be reached by the keyboard */}
        <section class="scroll" aria-label={label} tabIndex={0}>
          <table>
            <caption class="unseen">{label}</caption>
            <thead>
              <tr>
                <th scope="col">From</th>
                {series.map(({ name }) => (
                  <th key={name} scope="col" class="number">
                    {name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {withFigures(series, starts.length).map((place) => (
                <tr key={place}>
                  <th scope="row">{whole(place)}</th>
                  {series.map(({ name, values }) => {
                    const value = values[place];
                    return (
                      <td key={name} class="number">
                        {value === undefined ? '–' : format(value)}
                      </td>
                    );
                  })}
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      </details>
    </div>
  );
}

function Drawing({
  label,
  kind,
  series,
  query: { starts, interval },
  format,
  formatTick = format,
  isWhole,
  pointed,
  onPoint,
}: ChartProps & {
  readonly pointed: number | undefined;
  readonly onPoint: (at: number | undefined) => void;
}) {
  const { formats } = useShell();
  const frame = useRef<HTMLDivElement>(null);
  const width = useWidth(frame);
  const heights = starts.map((_, at) =>
    kind === 'columns'
      ? series.reduce((sum, { values }) => sum + (values[at] ?? 0), 0)
      : Math.max(0, ...series.map(({ values }) => values[at] ?? 0)),
  );
  const ticks = valueTicks(Math.max(0, ...heights), isWhole);
  const labels = ticks.map(formatTick);
  const left = Math.max(...labels.map(({ length }) => length)) * 7 + 10;
  const most = ticks.at(-1) || 1;
  const slot = Math.max(0, width - left - right) / Math.max(1, starts.length);
  const middle = (at: number) => left + (at + 0.5) * slot;
  const y = (value: number) => height - bottom - (value / most) * (height - bottom - top);
  const bar = Math.min(40, slot * 0.76);
  const shortOf = (at: number) => (interval === 'day' ? formats.day : formats.hour)(starts[at] ?? '');
  const point = (event: { readonly offsetX: number }) => {
    const at = Math.floor((event.offsetX - left) / slot);
    onPoint(at >= 0 && at < starts.length ? at : undefined);
  };
  return (
    <div ref={frame} class="chart-frame">
      <svg
        width={width}
        height={height}
        role="img"
        aria-label={`${label}. The table below has the same figures.`}
        onPointerMove={point}
        onPointerDown={point}
        onPointerLeave={() => onPoint(undefined)}
      >
        {ticks.map((tick, at) => (
          <g key={tick}>
            {at > 0 && <path class="chart-grid" d={`M${left} ${line(y(tick))}H${width - right}`} />}
            <text class="chart-text" x={left - 8} y={y(tick) + 4} text-anchor="end">
              {labels[at]}
            </text>
          </g>
        ))}
        {timeTicks({ starts, interval }, Math.floor((width - left) / 64)).map((at) => (
          <text key={at} class="chart-text" x={middle(at)} y={height - 6} text-anchor="middle">
            {shortOf(at)}
          </text>
        ))}
        {pointed !== undefined && (
          <rect
            class="chart-band"
            x={middle(pointed) - slot / 2}
            y={top}
            width={slot}
            height={height - bottom - top}
          />
        )}
        {kind === 'columns'
          ? columnsOf(series, starts.length).map(({ place, at, from, to }) => (
              <rect
                key={`${place} ${at}`}
                class={`chart-bar series-${place + 1}`}
                x={middle(at) - bar / 2}
                width={bar}
                y={y(to)}
                // Every value above zero is visible, however small.
                height={Math.max(1, y(from) - y(to))}
              />
            ))
          : series.map(({ name, values }, place) => (
              <g key={name} class={`series-${place + 1}`}>
                <path class="chart-line" d={linePath(values, middle, y)} />
                {alone(values).map(([at, value]) => (
                  <circle key={at} class="chart-bar" cx={middle(at)} cy={y(value)} r={2.5} />
                ))}
              </g>
            ))}
        <path class="chart-base" d={`M${left} ${line(height - bottom)}H${width - right}`} />
      </svg>
    </div>
  );
}

/** On whole pixels and a half, lines are sharp. */
const line = (y: number) => Math.round(y) - 0.5;

function useWidth(of: { readonly current: HTMLElement | null }): number {
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const element = of.current;
    if (element === null) return;
    const look = () => setWidth(element.clientWidth);
    look();
    const observer = new ResizeObserver(look);
    observer.observe(element);
    return () => observer.disconnect();
  }, [of]);
  return width;
}
