// Is a metric reported as its row has it: pulled, at a collector, and in what a collector makes of it for Prometheus?

import { expect } from 'vitest';
import { exposed, type Metric, type MetricTable } from '../../../core/telemetry/metric.ts';
import type { ArrivedMetric } from '../../support/collector/collector.ts';
import type { ReadFamily } from '../../support/prometheus-text.ts';

export function expectArrived(arrived: readonly ArrivedMetric[], row: Metric): void {
  const metric = arrived.find(({ name }) => name === row.name);
  expect(metric, row.name).toMatchObject({ unit: row.unit, description: row.help });
  const data = { counter: metric?.sum, gauge: metric?.gauge, histogram: metric?.histogram }[row.type];
  expect(data?.dataPoints.length, row.name).toBeGreaterThan(0);
  for (const { attributes, explicitBounds } of data?.dataPoints ?? []) {
    expect(Object.keys(attributes).filter((label) => !row.labels.includes(label))).toEqual([]);
    expect(explicitBounds).toEqual(row.bounds);
  }
  // Each label has a value somewhere.
  const seen = new Set(data?.dataPoints.flatMap(({ attributes }) => Object.keys(attributes)));
  expect(row.labels.filter((label) => !seen.has(label))).toEqual([]);
  if (row.type === 'counter')
    expect(metric?.sum).toMatchObject({ isMonotonic: true, aggregationTemporality: 2 });
}

export function expectPulled(pulled: readonly ReadFamily[], row: Metric): void {
  const { name, labels: reported } = exposed(row);
  const family = familyOf(pulled, name);
  expect(family, name).toMatchObject({ type: row.type, help: row.help });
  const labels = new Set(family?.samples.flatMap((sample) => Object.keys(sample.labels)));
  labels.delete('le');
  expect([...labels].toSorted()).toEqual(reported.toSorted());
}

/** One dashboard for both: what the collector makes of OTLP has the names, labels and values of what is pulled. */
export function expectShown(
  shown: readonly ReadFamily[],
  pulled: readonly ReadFamily[],
  { type, ...row }: Metric,
): void {
  const { name } = exposed({ type, ...row });
  expect(familyOf(shown, name)?.type, name).toBe(type);
  if (type === 'counter') expect(valuesOf(shown, name)).toEqual(valuesOf(pulled, name));
}

/** What arrived or was pulled that no row knows, but the figures of Node.js. */
export function unknownOf(
  table: MetricTable,
  arrived: readonly ArrivedMetric[],
  pulled: readonly ReadFamily[],
): readonly string[] {
  const rows = Object.values(table);
  const sent = new Set(rows.map(({ name }) => name));
  const names = new Set(rows.map((row) => exposed(row).name));
  return [
    ...arrived.map(({ name }) => name).filter((name) => !sent.has(name)),
    ...pulled.map(({ name }) => name).filter((name) => !names.has(name) && !names.has(`${name}_total`)),
  ].filter((name) => !/^(process|nodejs)_/.test(name));
}

export function familyOf(families: readonly ReadFamily[], name: string): ReadFamily | undefined {
  return families.find((family) => family.name === name || `${family.name}_total` === name);
}

/** By their labels; those that the collector adds, and those without a value, say nothing. */
function valuesOf(families: readonly ReadFamily[], name: string): Readonly<Record<string, string>> {
  const samples = familyOf(families, name)?.samples ?? [];
  return Object.fromEntries(
    samples
      .filter((sample) => sample.name === name)
      .map(({ labels, value }) => {
        const reported = Object.entries(labels).filter(
          ([label, text]) => text !== '' && !/^(otel_scope|job|instance)/.test(label),
        );
        return [JSON.stringify(reported.toSorted()), value] as const;
      })
      .toSorted(),
  );
}
