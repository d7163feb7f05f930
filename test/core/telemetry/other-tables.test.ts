// What the other processes measure, does it arrive at a real collector as their tables have it, and as it is pulled?

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../../core/clock.ts';
import { type Metric, type MetricTable, prometheusName } from '../../../core/telemetry/metric.ts';
import { sendMetrics } from '../../../core/telemetry/send-metrics.ts';
import { readTelemetrySettings } from '../../../core/telemetry/settings.ts';
import { dashboardMetrics } from '../../../dashboard/metric-table.ts';
import { ledgerMetrics } from '../../../ledger/metric-table.ts';
import { operatorMetrics } from '../../../operator/metric-table.ts';
import { usedMetrics as usedDashboard } from '../../dashboard/used-metrics.ts';
import { usedMetrics as usedLedger } from '../../ledger/used-metrics.ts';
import { usedMetrics as usedOperator } from '../../operator/used-metrics.ts';
import { type ArrivedMetric, type Collector, startCollector } from '../../support/collector/collector.ts';
import { buildWaitMs } from '../../support/go-build.ts';
import { type ReadFamily, readPrometheusText } from '../../support/prometheus-text.ts';
import { until } from '../../support/until.ts';
import { expectArrived, expectPulled, expectShown, unknownOf } from './reported-rows.ts';

const processes = [
  ['operator', operatorMetrics, usedOperator],
  ['ledger', ledgerMetrics, usedLedger],
  ['dashboard', dashboardMetrics, usedDashboard],
] as const satisfies readonly (readonly [string, MetricTable, unknown])[];

interface Reported {
  readonly pulled: readonly ReadFamily[];
  readonly arrived: readonly ArrivedMetric[];
}

let collector: Collector;
let shown: readonly ReadFamily[];
const reportedBy = new Map<string, Reported>();
const reported = (name: string): Reported => reportedBy.get(name) ?? { pulled: [], arrived: [] };

beforeAll(async () => {
  collector = await startCollector();
  const environment = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint };
  for (const [name, table, used] of processes) {
    const { registry } = await used();
    const pulled = await readPrometheusText(await registry.metrics());
    const telemetry = await sendMetrics(readTelemetrySettings(environment, `penstock-${name}`), {
      clock: systemClock,
      registry,
      table,
      version: '1.2.3',
      onTelemetry(message) {
        throw new Error(message);
      },
    });
    await telemetry?.close(30_000);
    const rows: readonly Metric[] = Object.values(table);
    const arrived = await until(async () => {
      const metrics = await collector.metrics();
      return metrics.some((metric) => metric.name === rows[0]?.name) && metrics;
    });
    reportedBy.set(name, { pulled, arrived });
  }
  shown = await readPrometheusText(await (await fetch(collector.prometheusUrl)).text());
  // The collector is built once: two minutes of two cores.
}, buildWaitMs);

afterAll(() => collector?.close());

describe.each(processes)('of the %s', (name, table) => {
  const rows: readonly Metric[] = Object.values(table);

  test.each(rows.map((row) => [prometheusName(row), row] as const))(
    '%s is pulled, and arrives, as it is in its table',
    (_, row) => {
      expectPulled(reported(name).pulled, row);
      expectArrived(reported(name).arrived, row);
      expectShown(shown, reported(name).pulled, row);
    },
  );

  test('nothing else is scraped or arrives, but the metrics of Node.js', () => {
    expect(unknownOf(table, reported(name).arrived, reported(name).pulled)).toEqual([]);
  });
});

test('each process names itself, and sends neither traces nor events', async () => {
  const names = (await collector.resources()).map((resource) => resource['service.name']);
  expect(names).toEqual(['penstock-operator', 'penstock-ledger', 'penstock-dashboard']);
  expect(await Promise.all([collector.spans(), collector.events()])).toEqual([[], []]);
});
