// Do alerts, dashboards and collectors hear of metrics that there are?

import { expect, test } from 'vitest';
import { type MetricTable, prometheusName } from '../../core/telemetry/metric.ts';
import { dashboardMetrics } from '../../dashboard/metric-table.ts';
import { readSettings as readDashboardSettings } from '../../dashboard/settings.ts';
import { gatewayMetrics } from '../../gateway/meter/metric-table.ts';
import { readSettings as readGatewaySettings } from '../../gateway/process/settings.ts';
import { ledgerMetrics } from '../../ledger/metric-table.ts';
import { readSettings as readLedgerSettings } from '../../ledger/settings.ts';
import { operatorMetrics } from '../../operator/metric-table.ts';
import { readSettings as readOperatorSettings } from '../../operator/settings.ts';
import { faultsOf, knownMetric, namesIn } from '../support/metric-use.ts';
import { deploymentOf, RELEASE_NAMESPACE, render, useHelm } from './helm.ts';

const plane = useHelm();

test('alerts and dashboards use metrics that exist', async () => {
  const monitoring = { rules: { enabled: true }, dashboard: { enabled: true } };
  const objects = await render(plane(), {
    monitoring,
    limits: { store: { url: 'redis://valkey:6379' } },
    dashboard: { enabled: true },
  });
  const rules = JSON.stringify(objects.find(({ kind }) => kind === 'PrometheusRule'));
  const dashboard = JSON.stringify(
    objects.find(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === 'penstock-dashboard'),
  );
  for (const text of [rules, dashboard]) {
    const used = namesIn(text);
    expect(used.size).toBeGreaterThan(8);
    expect([...used].filter((name) => knownMetric(name) === undefined)).toEqual([]);
  }
  const expressions = [...rules.matchAll(/"expr":("(?:[^"\\]|\\.)*")/g)].map(([, quoted = '']) =>
    String(JSON.parse(quoted)),
  );
  expect(expressions.length).toBeGreaterThan(20);
  expect(expressions.flatMap(faultsOf)).toEqual([]);
  // Every metric whose text says alert has a rule.
  const silent = [gatewayMetrics, operatorMetrics, ledgerMetrics, dashboardMetrics]
    .flatMap((table: MetricTable) => Object.values(table))
    .filter(({ meaning }) => /\balert\b/i.test(meaning))
    .map(prometheusName)
    .filter((name) => !rules.includes(`${name}{`));
  expect(silent).toEqual([]);
});

test("every process has the collector's address and may reach it; without a collector no setting mentions one", async () => {
  const telemetry = {
    endpoint: 'http://collector.monitoring:4318',
    headersSecretName: 'collector-headers',
    usageEvents: true,
    metrics: { everySeconds: 15, legacyTokenHistogram: true },
    traces: { ratio: 0.05 },
    peers: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } }],
  };
  const on = { ledger: { enabled: true }, dashboard: { enabled: true } };
  const objects = await render(plane(), { telemetry, ...on });
  const gateway = deploymentOf(objects, 'penstock-gateway').environment;
  expect(readGatewaySettings(gateway)).toMatchObject({
    hasUsageEvents: true,
    hasLegacyTokens: true,
    telemetry: {
      metricsUrl: 'http://collector.monitoring:4318/v1/metrics',
      tracesUrl: 'http://collector.monitoring:4318/v1/traces',
      metricsEveryMs: 15_000,
      sampler: { followsParent: true, ratio: 0.05 },
      resource: { 'service.name': 'penstock-gateway', 'k8s.namespace.name': RELEASE_NAMESPACE },
    },
  });
  const others = {
    'penstock-operator': readOperatorSettings,
    'penstock-ledger': readLedgerSettings,
    'penstock-dashboard': readDashboardSettings,
  };
  for (const [name, readSettings] of Object.entries(others))
    expect(readSettings(deploymentOf(objects, name).environment).telemetry).toMatchObject({
      metricsUrl: 'http://collector.monitoring:4318/v1/metrics',
      metricsEveryMs: 15_000,
      resource: { 'service.name': name, 'k8s.namespace.name': RELEASE_NAMESPACE },
    });
  const text = JSON.stringify(objects);
  expect(text).toContain('"secretKeyRef":{"name":"collector-headers","key":"headers"}');
  for (const name of ['penstock-gateway', ...Object.keys(others)]) {
    const policy = objects.find(({ kind, metadata }) => kind === 'NetworkPolicy' && metadata.name === name);
    expect(policy?.spec).toMatchObject({
      egress: expect.arrayContaining([{ ports: [{ protocol: 'TCP', port: 4318 }], to: telemetry.peers }]),
    });
  }
  expect(JSON.stringify(await render(plane(), on))).not.toContain('OTEL_');
});
