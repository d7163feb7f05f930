// How did a figure come about? As a small line without axes, beside the figure; what it shows is in the table of the chart too.

import { linePath } from '../words/line-path.ts';

interface SparklineProps {
  /** Undefined: nothing is known of that interval. */
  readonly values: readonly (number | undefined)[];
  readonly tone?: 'bad' | 'warn';
}

const height = 28;

export function Sparkline({ values, tone }: SparklineProps) {
  const most = Math.max(0, ...values.map((value) => value ?? 0));
  const width = Math.max(1, values.length - 1);
  const y = (value: number) => height - 1 - (most === 0 ? 0 : (value / most) * (height - 3));
  const line = linePath(values, (at) => at, y);
  return (
    <svg
      class={`spark ${most === 0 ? '' : (tone ?? '')}`}
      viewBox={`0 0 ${width} ${height}`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      <path
        class="spark-area"
        d={`${linePath(
          values.map((value) => value ?? 0),
          (at) => at,
          y,
        )}L${width} ${height}L0 ${height}Z`}
      />
      <path class="spark-line" vector-effect="non-scaling-stroke" d={line} />
    </svg>
  );
}
