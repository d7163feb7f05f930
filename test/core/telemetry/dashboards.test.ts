// Do the dashboards ask for what there is?

import { describe, expect, test } from 'vitest';
import { dashboardJson, dashboards } from '../../../deploy/monitoring/dashboards.ts';
import { faultsOf, knownMetric, namesIn } from '../../support/metric-use.ts';

test('there are dashboards for an overview, provider health and spend', () => {
  expect(dashboards.map(({ name }) => name)).toEqual(['overview', 'provider-health', 'spend']);
});

describe.each(dashboards.map((dashboard) => [dashboard.name, dashboard] as const))('%s', (_, dashboard) => {
  test.each(dashboard.panels.map((panel) => [panel.title, panel] as const))('%s', (_title, { queries }) => {
    expect(queries.length).toBeGreaterThan(0);
    for (const { expr, legend } of queries) {
      expect(namesIn(expr).size).toBeGreaterThan(0);
      expect(faultsOf(expr)).toEqual([]);
      // A curve is named by labels that are left of it.
      const shown = [...legend.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = '']) => label);
      const [, grouped] = /\bby \(([^)]*)\)/.exec(expr) ?? [];
      const left = grouped?.split(',').map((word) => word.trim()) ?? ['pod'];
      expect(shown.filter((label) => !left.includes(label))).toEqual([]);
    }
  });

  test('Grafana accepts it: panels have unique ids and do not overlap', () => {
    const { panels, uid } = JSON.parse(dashboardJson(dashboard));
    expect(uid).toMatch(/^penstock/);
    const ids = panels.map(({ id }: { id: number }) => id);
    expect(new Set(ids).size).toBe(dashboard.panels.length);
    const places = panels.map(({ gridPos }: { gridPos: object }) => JSON.stringify(gridPos));
    expect(new Set(places).size).toBe(places.length);
  });
});

test.each([
  ['rate(penstock_request_total{model="m"}[5m])', 'is no metric'],
  ['penstock_request_duration_seconds{}', 'is no metric'],
  ['penstock_requests_total{key="k"}', 'has no label key'],
  ['sum by (provider) (rate(penstock_requests_total{model="m"}[5m]))', 'nothing here has a label provider'],
])('a query without a result is found: %s', (expression, words) => {
  expect(faultsOf(expression).join()).toContain(words);
});

test('the parts of a histogram have its labels', () => {
  expect(knownMetric('penstock_request_duration_seconds_bucket')).toEqual(['endpoint', 'model', 'le']);
  expect(knownMetric('penstock_requests_total_bucket')).toBeUndefined();
});
