// Which names has a metric? What a real collector makes of them is looked at in otlp.test.ts; here, the rule by example.

import { expect, test } from 'vitest';
import { type MetricTable, prometheusLabel, prometheusName } from '../../../core/telemetry/metric.ts';
import { dashboardMetrics } from '../../../dashboard/metric-table.ts';
import { gatewayMetrics } from '../../../gateway/meter/metric-table.ts';
import { ledgerMetrics } from '../../../ledger/metric-table.ts';
import { operatorMetrics } from '../../../operator/metric-table.ts';

const tables: Readonly<Record<string, MetricTable>> = {
  gateway: gatewayMetrics,
  operator: operatorMetrics,
  ledger: ledgerMetrics,
  dashboard: dashboardMetrics,
};

test.each([
  ['gen_ai.client.operation.duration', 'histogram', 's', 'gen_ai_client_operation_duration_seconds'],
  ['gen_ai.client.token.usage', 'histogram', '{token}', 'gen_ai_client_token_usage'],
  ['penstock.requests', 'counter', '', 'penstock_requests_total'],
  ['penstock.held', 'gauge', 'By', 'penstock_held_bytes'],
  // A unit that is in the name already is not said twice.
  ['penstock.operator.shard_bytes_written', 'counter', 'By', 'penstock_operator_shard_bytes_written_total'],
] as const)('%s, a %s in %j, is scraped as %s', (name, type, unit, pulled) => {
  expect(prometheusName({ name, type, unit })).toBe(pulled);
});

test('a label is scraped with underscores', () => {
  expect(prometheusLabel('gen_ai.request.model')).toBe('gen_ai_request_model');
});

test.each(Object.entries(tables))('no two metrics of the %s have the same name when scraped', (_, table) => {
  const names = Object.values(table).map(prometheusName);
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
});

test.each(Object.entries(tables))(
  'every histogram of the %s has rising bounds, and nothing else has any',
  (_, table) => {
    for (const { name, type, bounds } of Object.values(table)) {
      expect(bounds !== undefined, name).toBe(type === 'histogram');
      expect(
        bounds?.toSorted((a, b) => a - b),
        name,
      ).toEqual(bounds);
    }
  },
);

test.each(Object.entries(tables))('no label of the %s is filled by callers', (_, table) => {
  const labels = new Set(Object.values(table).flatMap((metric) => metric.labels));
  for (const word of ['user', 'request_id', 'api_key', 'key_id', 'namespace', 'gen_ai.response.model'])
    expect([...labels]).not.toContain(word);
});
