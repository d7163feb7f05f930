// Which counters and histograms does a process have? One for each such row of its table.

import { exposed, type Metric, type MetricTable } from '../../core/telemetry/metric.ts';
import { HotCounter, HotHistogram, type IsKept, type Registry } from './hot-metrics.ts';

type Named<Table extends MetricTable, Type extends Metric['type']> = {
  [Name in keyof Table]: Table[Name]['type'] extends Type ? Name : never;
}[keyof Table];

interface Counted<Table extends MetricTable> {
  readonly counters: Readonly<Record<Named<Table, 'counter'>, HotCounter<string>>>;
  readonly histograms: Readonly<Record<Named<Table, 'histogram'>, HotHistogram<string>>>;
  /** Only those series stay whose labels still mean something. */
  retain(isKept: IsKept): void;
}

/** Registers them too. */
export function openCounted<Table extends MetricTable>(registry: Registry, table: Table): Counted<Table> {
  const all: (HotCounter<string> | HotHistogram<string>)[] = [];
  const kept = <Made extends (typeof all)[number]>(metric: Made): Made => {
    all.push(metric);
    return metric;
  };
  return {
    counters: openAll(table, 'counter', (row) => kept(openCounter(registry, row))),
    histograms: openAll(table, 'histogram', (row) => kept(new HotHistogram(registry, exposed(row)))),
    retain(isKept) {
      for (const metric of all) metric.retain(isKept);
    },
  };
}

/** An alert sees only what grows, not what begins: without labels it begins at 0. */
function openCounter(registry: Registry, row: Metric): HotCounter<string> {
  const counter = new HotCounter(registry, exposed(row));
  if (row.labels.length === 0) counter.add(0);
  return counter;
}

function openAll<Table extends MetricTable, Type extends Metric['type'], Made>(
  table: Table,
  type: Type,
  make: (row: Metric) => Made,
): Readonly<Record<Named<Table, Type>, Made>> {
  const rows = Object.entries(table).filter(([, row]) => row.type === type);
  return Object.fromEntries(rows.map(([name, row]) => [name, make(row)])) as Record<Named<Table, Type>, Made>;
}
