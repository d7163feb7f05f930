// How do stacked columns over time look? Drawn by uPlot, with the same figures as a table.

import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import { type Stack, upperEdges } from './stack.ts';

interface ChartProps {
  readonly label: string;
  readonly stack: Stack;
  /** One for each column: short under the axis, whole elsewhere. */
  readonly labels: readonly { readonly short: string; readonly whole: string }[];
  readonly format: (value: number) => string;
}

export function Chart({ label, stack, labels, format }: ChartProps) {
  const frame = useRef<HTMLDivElement>(null);
  const isDark = useDarkMode();
  const [pointed, setPointed] = useState<number | undefined>(undefined);
  const formatting = useRef(format);
  formatting.current = format;
  const edges = useMemo(() => upperEdges(stack), [stack]);

  // Redrawn in the other colour mode: colours are read once, when it is drawn.
  useEffect(() => {
    const element = frame.current;
    if (element === null) return;
    const styles = getComputedStyle(element);
    const colour = (name: string) => styles.getPropertyValue(name).trim();
    const axis = {
      stroke: colour('--faint'),
      font: `12px ${styles.fontFamily}`,
      grid: { stroke: colour('--line'), width: 1 },
      ticks: { show: false },
    };
    const places = labels.map((_, at) => at);
    const plot = new uPlot(
      {
        width: element.clientWidth,
        height: 240,
        padding: [8, 20, 0, 0],
        legend: { show: false },
        cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
        scales: {
          x: { time: false, range: [-0.5, labels.length - 0.5] },
          y: { range: (_, __, most) => [0, most > 0 ? most * 1.05 : 1] },
        },
        axes: [
          {
            ...axis,
            size: 28,
            grid: { show: false },
            splits: () => spread(labels.length, Math.max(2, Math.floor(element.clientWidth / 96))),
            values: (_, splits) => splits.map((at) => labels[at]?.short ?? ''),
          },
          { ...axis, size: 64, values: (_, splits) => splits.map((value) => formatting.current(value)) },
        ],
        // The highest edge first, so that each column covers the next.
        series: [
          {},
          ...edges
            .map((_, at) => ({
              fill: colour(`--series-${at + 1}`),
              stroke: colour('--surface'),
              width: 1 / devicePixelRatio,
              paths: uPlot.paths.bars?.({ size: [0.72, 48] }) ?? (() => null),
              points: { show: false },
            }))
            .reverse(),
        ],
        hooks: {
          setCursor: [({ cursor }) => setPointed(cursor.idx ?? undefined)],
        },
      },
      [places, ...edges.map((edge) => [...edge]).reverse()],
      element,
    );
    const observer = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: 240 }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      plot.destroy();
    };
  }, [edges, labels, isDark]);

  const at = pointed !== undefined && pointed < labels.length ? pointed : undefined;
  const shownOf = (values: readonly number[], total: number) =>
    at === undefined ? total : (values[at] ?? 0);
  return (
    <div class="chart">
      <div
        ref={frame}
        class="chart-frame"
        role="img"
        aria-label={`${label}. The table below has the same figures.`}
      />
      <p class="hint">{at === undefined ? 'Total' : labels[at]?.whole}</p>
      <ul class="legend">
        {stack.groups.map(({ name, values, total, isRest }, place) => (
          <li key={name}>
            <svg class={`swatch series-${place + 1}`} viewBox="0 0 10 10" aria-hidden="true">
              <rect width="10" height="10" rx="2" />
            </svg>
            <span class={isRest ? 'faint' : undefined}>{name}</span>
            <span class="legend-value">{format(shownOf(values, total))}</span>
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
                {stack.groups.map(({ name }) => (
                  <th key={name} scope="col" class="number">
                    {name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {withFigures(stack).map((row) => (
                <tr key={row}>
                  <th scope="row">{labels[row]?.whole}</th>
                  {stack.groups.map(({ name, values }) => (
                    <td key={name} class="number">
                      {format(values[row] ?? 0)}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      </details>
    </div>
  );
}

/** Columns that hold anything, the newest first. */
function withFigures({ groups }: Stack): readonly number[] {
  const [first] = groups;
  const columns = (first?.values ?? []).map((_, at) => at);
  return columns.filter((at) => groups.some(({ values }) => (values[at] ?? 0) !== 0)).reverse();
}

/** Places of at most so many labels, evenly apart, with the last one. */
function spread(count: number, labelsMax: number): number[] {
  const step = Math.max(1, Math.ceil(count / labelsMax));
  const places: number[] = [];
  for (let at = count - 1; at >= 0; at -= step) places.unshift(at);
  return places;
}

function useDarkMode(): boolean {
  const [isDark, setDark] = useState(() => matchMedia('(prefers-color-scheme: dark)').matches);
  useEffect(() => {
    const query = matchMedia('(prefers-color-scheme: dark)');
    const look = () => setDark(query.matches);
    query.addEventListener('change', look);
    return () => query.removeEventListener('change', look);
  }, []);
  return isDark;
}
