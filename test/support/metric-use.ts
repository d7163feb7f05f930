// Which metrics does an expression of PromQL ask for, and has each of them the labels that it speaks of?

import { exposed, type Metric, type MetricTable } from '../../core/telemetry/metric.ts';
import { dashboardMetrics } from '../../dashboard/metric-table.ts';
import { gatewayMetrics } from '../../gateway/meter/metric-table.ts';
import { ledgerMetrics } from '../../ledger/metric-table.ts';
import { operatorMetrics } from '../../operator/metric-table.ts';

const rows = new Map<string, Metric>(
  [gatewayMetrics, operatorMetrics, ledgerMetrics, dashboardMetrics]
    .flatMap((table: MetricTable) => Object.values(table))
    .map((metric) => [exposed(metric).name, metric]),
);

/** What Prometheus adds when it looks. */
const added = ['namespace', 'pod'];
/** Of the process, made by the library. */
const ofNode = ['process_start_time_seconds'];

/** Names in front of a selector; every one of ours has one. */
export function namesIn(text: string): ReadonlySet<string> {
  return new Set([...text.matchAll(/([a-z][a-z0-9]*_[a-z0-9_]+)\{/g)].map(([, name = '']) => name));
}

/** The labels of a metric; undefined where there is none of that name. */
export function knownMetric(name: string): readonly string[] | undefined {
  if (ofNode.includes(name)) return [];
  const row = rows.get(name);
  // Of a histogram only its parts can be asked for.
  if (row) return row.type === 'histogram' ? undefined : exposed(row).labels;
  const [, whole = '', part] = /^(\w+)_(bucket|sum|count)$/.exec(name) ?? [];
  const histogram = rows.get(whole);
  if (histogram?.type !== 'histogram') return undefined;
  return [...exposed(histogram).labels, ...(part === 'bucket' ? ['le'] : [])];
}

/** What of it could never give an answer: one line each. */
export function faultsOf(expression: string): readonly string[] {
  const faults: string[] = [];
  const labels = new Set(added);
  for (const [, name = '', inner = ''] of expression.matchAll(/([a-z][a-z0-9]*_[a-z0-9_]+)\{([^}]*)\}/g)) {
    const known = knownMetric(name);
    if (known === undefined) faults.push(`${name} is no metric: ${expression}`);
    for (const label of known ?? []) labels.add(label);
    for (const [, label = ''] of inner.matchAll(/(\w+)\s*(?:=~|!~|!=|=)\s*"/g))
      if (known !== undefined && ![...known, ...added].includes(label))
        faults.push(`${name} has no label ${label}: ${expression}`);
  }
  for (const [, list = ''] of expression.matchAll(/\bby \(([^)]*)\)/g))
    for (const label of list.split(',').map((word) => word.trim()))
      if (!labels.has(label)) faults.push(`nothing here has a label ${label}: ${expression}`);
  return faults;
}
