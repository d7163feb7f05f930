// What does Grafana show? Three dashboards, made from rows of the tables: a metric that is renamed takes its panels along, and one that
// is gone does not compile.

import { exposed, type Metric } from '../../core/telemetry/metric.ts';
import { gatewayMetrics as gateway } from '../../gateway/meter/metric-table.ts';
import { operatorMetrics as operator } from '../../operator/metric-table.ts';

interface Query {
  readonly expr: string;
  readonly legend: string;
}

interface Panel {
  readonly title: string;
  /** Of Grafana: `s`, `short`, `reqps`, `percentunit`, `currencyUSD`. */
  readonly unit: string;
  readonly queries: readonly Query[];
  /** A number instead of a curve. */
  readonly isStat?: boolean;
}

interface Dashboard {
  /** Of its file, below charts/penstock/dashboards. */
  readonly name: string;
  readonly title: string;
  readonly panels: readonly Panel[];
}

/** `label!="value"` and the like. */
type Matcher = string;

function series(
  metric: Metric,
  suffix: '' | '_bucket' | '_sum' | '_count',
  ...matchers: readonly Matcher[]
): string {
  return `${exposed(metric).name}${suffix}{${['namespace=~"$namespace"', ...matchers].join(',')}}`;
}

const rate = (counter: Metric, ...matchers: readonly Matcher[]): string =>
  `rate(${series(counter, '', ...matchers)}[$__rate_interval])`;

const increase = (counter: Metric, range: string, ...matchers: readonly Matcher[]): string =>
  `increase(${series(counter, '', ...matchers)}[${range}])`;

function sumBy(labels: readonly string[], expr: string): string {
  return labels.length === 0 ? `sum(${expr})` : `sum by (${labels.join(', ')}) (${expr})`;
}

/** One curve for each set of labels, named by their values. */
function by(labels: readonly string[], expr: string): Query {
  return { expr: sumBy(labels, expr), legend: labels.map((label) => `{{${label}}}`).join(' ') };
}

function quantiles(
  histogram: Metric,
  labels: readonly string[],
  ...shares: readonly number[]
): readonly Query[] {
  return shares.map((share) => ({
    expr: `histogram_quantile(${share}, ${sumBy(['le', ...labels], `rate(${series(histogram, '_bucket')}[$__rate_interval])`)})`,
    legend: [...labels.map((label) => `{{${label}}}`), `p${share * 100}`].join(' '),
  }));
}

/** What part of all is this; nothing where there is nothing at all. */
function shareOf(labels: readonly string[], part: string, all: string): Query {
  return { ...by(labels, part), expr: `${sumBy(labels, part)} / ${sumBy(labels, all)}` };
}

const failed = 'outcome=~"failed|broken-off"';

export const dashboards: readonly Dashboard[] = [
  {
    name: 'overview',
    title: 'Penstock / Overview',
    panels: [
      { title: 'Requests per second', unit: 'reqps', queries: [by(['model'], rate(gateway.requests))] },
      {
        title: 'Error rate',
        unit: 'percentunit',
        queries: [shareOf(['model'], rate(gateway.requests, 'status=~"5.."'), rate(gateway.requests))],
      },
      {
        title: 'Request duration',
        unit: 's',
        queries: quantiles(gateway.requestDuration, [], 0.5, 0.99),
      },
      {
        title: 'Time to first token',
        unit: 's',
        queries: quantiles(gateway.timeToFirstToken, [], 0.5, 0.99),
      },
      {
        title: 'Time per output token',
        unit: 's',
        queries: quantiles(gateway.serverTimePerOutputToken, [], 0.5, 0.99),
      },
      { title: 'Tokens per second', unit: 'short', queries: [by(['model', 'kind'], rate(gateway.tokens))] },
      {
        title: 'Requests in flight',
        unit: 'short',
        queries: [
          by(['pod'], series(gateway.requestsInFlight, '')),
          { expr: sumBy([], series(gateway.requestsInFlightMax, '')), legend: 'possible' },
        ],
      },
      {
        title: 'Load shedding',
        unit: 'reqps',
        queries: [by(['reason'], rate(gateway.shed)), by(['reason'], rate(gateway.connectionsRefused))],
      },
      {
        title: 'Invalid API keys',
        unit: 'reqps',
        queries: [{ expr: sumBy([], rate(gateway.authenticationFailures)), legend: 'refused' }],
      },
      {
        title: 'Event loop delay',
        unit: 's',
        queries: [{ expr: series(gateway.eventLoopDelay, ''), legend: '{{pod}}' }],
      },
      {
        title: 'Routing table generation',
        unit: 'short',
        queries: [
          { expr: series(gateway.tableGeneration, ''), legend: '{{pod}}' },
          { expr: `max(${series(operator.tableGeneration, '')})`, legend: 'published' },
        ],
      },
      {
        title: 'Gateways behind, by generations',
        unit: 'short',
        queries: [
          { expr: `max by (lag) (${series(operator.gatewayPods, '', 'lag!="0"')})`, legend: '{{lag}}' },
        ],
      },
      {
        title: 'Time since last operator heartbeat',
        unit: 's',
        queries: [{ expr: series(gateway.configAge, ''), legend: '{{pod}}' }],
      },
      {
        title: 'Time from change to table, p99',
        unit: 's',
        queries: [
          ...quantiles(operator.publishDuration, [], 0.99),
          ...quantiles(gateway.tableLoad, [], 0.99),
        ],
      },
      {
        title: 'Objects not Ready',
        unit: 'short',
        queries: [
          {
            expr: `max by (kind, ready) (${series(operator.objects, '', 'ready!="True"')})`,
            legend: '{{kind}} {{ready}}',
          },
        ],
      },
      {
        title: 'Dropped telemetry',
        unit: 'short',
        queries: [
          by(['signal', 'reason'], rate(gateway.telemetryDropped)),
          by(['signal'], rate(gateway.telemetryFailures)),
        ],
      },
    ],
  },
  {
    name: 'provider-health',
    title: 'Penstock / Provider health',
    panels: [
      {
        title: 'Attempts by outcome',
        unit: 'reqps',
        queries: [by(['provider', 'outcome'], rate(gateway.attempts))],
      },
      {
        title: 'Attempt error rate',
        unit: 'percentunit',
        queries: [shareOf(['provider'], rate(gateway.attempts, failed), rate(gateway.attempts))],
      },
      {
        title: 'Failed attempts by cause',
        unit: 'reqps',
        queries: [by(['provider', 'failure'], rate(gateway.attempts, failed))],
      },
      { title: 'Failovers', unit: 'reqps', queries: [by(['provider', 'failure'], rate(gateway.failovers))] },
      {
        title: 'Attempt duration, p99',
        unit: 's',
        queries: quantiles(
          gateway.clientOperationDuration,
          ['penstock_provider', 'gen_ai_request_model'],
          0.99,
        ),
      },
      {
        title: 'Time to first content, p99',
        unit: 's',
        queries: quantiles(gateway.firstEvent, ['provider', 'upstream_model'], 0.99),
      },
      {
        title: 'Pods with open circuit breakers',
        unit: 'short',
        queries: [by(['provider', 'upstream_model', 'state'], series(gateway.breakerState, ''))],
      },
      {
        title: 'Remaining key cooldown',
        unit: 's',
        queries: [
          {
            expr: `max by (provider, key, upstream_model, reason) (${series(gateway.keyCooldown, '')})`,
            legend: '{{provider}} {{key}} {{upstream_model}} {{reason}}',
          },
        ],
      },
      {
        title: 'Requests without an upstream',
        unit: 'reqps',
        queries: [by(['model'], rate(gateway.noTarget))],
      },
      {
        title: 'Broken streams',
        unit: 'reqps',
        queries: [by(['provider', 'end'], rate(gateway.streamEnd, 'end!~"complete|cancelled"'))],
      },
      {
        title: 'Failures hidden by failover',
        unit: 'reqps',
        queries: [
          by(['provider'], rate(gateway.failuresHeldBack)),
          by(['provider'], rate(gateway.staleReuse)),
        ],
      },
      {
        title: 'Unreadable events',
        unit: 'reqps',
        queries: [by(['provider', 'upstream_model'], rate(gateway.malformedFrames))],
      },
      { title: 'Health checks', unit: 'reqps', queries: [by(['result'], rate(operator.healthChecks))] },
      {
        title: 'Failed failover drills',
        unit: 'short',
        queries: [{ expr: `min by (route) (${series(operator.drillPassed, '')}) == 0`, legend: '{{route}}' }],
      },
    ],
  },
  {
    name: 'spend',
    title: 'Penstock / Spend',
    panels: [
      {
        title: 'Spend in this period',
        unit: 'currencyUSD',
        isStat: true,
        queries: [by(['payer'], increase(gateway.cost, '$__range'))],
      },
      {
        title: 'Attempts without a price',
        unit: 'short',
        isStat: true,
        queries: [{ expr: sumBy([], increase(gateway.unpricedAttempts, '$__range')), legend: 'attempts' }],
      },
      {
        title: 'Dollars per hour by model',
        unit: 'currencyUSD',
        queries: [by(['model'], `${rate(gateway.cost)} * 3600`)],
      },
      {
        title: 'Dollars per hour by provider',
        unit: 'currencyUSD',
        queries: [by(['provider'], `${rate(gateway.cost)} * 3600`)],
      },
      {
        title: 'Cost of failed attempts, per hour',
        unit: 'currencyUSD',
        queries: [by(['provider'], `${rate(gateway.cost, 'payer="platform"')} * 3600`)],
      },
      {
        title: 'Dollars per million tokens',
        unit: 'currencyUSD',
        queries: [
          shareOf(['model'], `${rate(gateway.cost)} * 1e6`, rate(gateway.tokens, 'kind=~"input|output"')),
        ],
      },
      { title: 'Tokens per second', unit: 'short', queries: [by(['model', 'kind'], rate(gateway.tokens))] },
      {
        title: 'Prompt cache hit rate',
        unit: 'percentunit',
        queries: [
          shareOf(
            ['model'],
            rate(gateway.tokens, 'kind="cached_input"'),
            rate(gateway.tokens, 'kind="input"'),
          ),
        ],
      },
      {
        title: 'Lost ledger records',
        unit: 'short',
        queries: [by(['pod'], increase(gateway.ledgerRecordsDropped, '$__range'))],
      },
    ],
  },
];

const source = { type: 'prometheus', uid: '$datasource' };

export function dashboardJson({ name, title, panels }: Dashboard): string {
  const dashboard = {
    // The first one keeps the address that it has always had.
    uid: name === 'overview' ? 'penstock' : `penstock-${name}`,
    title,
    tags: ['penstock'],
    schemaVersion: 41,
    editable: true,
    refresh: '30s',
    time: { from: 'now-3h', to: 'now' },
    links: [
      {
        type: 'dashboards',
        title: 'Penstock',
        tags: ['penstock'],
        asDropdown: true,
        keepTime: true,
        includeVars: true,
      },
    ],
    templating: {
      list: [
        { name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus' },
        {
          name: 'namespace',
          label: 'Namespace',
          type: 'query',
          datasource: source,
          query: `label_values(${exposed(gateway.tableGeneration).name}, namespace)`,
          refresh: 2,
          includeAll: true,
          multi: true,
        },
      ],
    },
    panels: panels.map(({ title: panelTitle, unit, queries, isStat }, index) => ({
      id: index + 1,
      type: isStat ? 'stat' : 'timeseries',
      title: panelTitle,
      datasource: source,
      gridPos: { h: 8, w: 12, x: 12 * (index % 2), y: 8 * Math.floor(index / 2) },
      fieldConfig: { defaults: { unit }, overrides: [] },
      targets: queries.map(({ expr, legend }, at) => ({
        refId: String.fromCharCode('A'.charCodeAt(0) + at),
        expr,
        legendFormat: legend,
      })),
    })),
  };
  return `${JSON.stringify(dashboard, null, 2)}\n`;
}
