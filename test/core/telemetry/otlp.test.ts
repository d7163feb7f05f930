// What arrives at a real collector, is it what the tables promise, and is it the same as what is pulled?

import { request as httpRequest } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { exposed, type Metric } from '../../../core/telemetry/metric.ts';
import { readTelemetrySettings } from '../../../core/telemetry/settings.ts';
import { gatewayMetrics } from '../../../gateway/meter/metric-table.ts';
import { makeRecord } from '../../gateway/meter/make-facts.ts';
import { type Rig, startRig, tableOf, testKey } from '../../gateway/rig.ts';
import {
  type ArrivedEvent,
  type ArrivedMetric,
  type ArrivedSpan,
  type Collector,
  startCollector,
} from '../../support/collector/collector.ts';
import { buildWaitMs } from '../../support/go-build.ts';
import { type ReadFamily, readPrometheusText } from '../../support/prometheus-text.ts';
import { type RedisServer, startRedis } from '../../support/redis-server.ts';
import { until } from '../../support/until.ts';
import { startWall, type Wall } from '../../support/wall.ts';
import { expectArrived, expectPulled, expectShown, familyOf, unknownOf } from './reported-rows.ts';

const canary = 'canary-of-what-was-asked';
const answerCanary = 'canary-of-what-was-answered';
const providerKey = 'sk-canary-of-the-provider-key';
const parent = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' };

let collector: Collector;
let walls: readonly Wall[];
let redis: RedisServer;
let rig: Rig;
let pulled: readonly ReadFamily[];
let shown: readonly ReadFamily[];
let arrived: readonly ArrivedMetric[];
let spans: readonly ArrivedSpan[];
let events: readonly ArrivedEvent[];

beforeAll(async () => {
  collector = await startCollector();
  walls = [
    await startWall({ type: 'status', status: 500 }),
    await startWall({ type: 'answer', text: answerCanary }),
  ];
  const [first, second] = walls;
  const table = tableOf(
    [first, second].map((wall, index) => ({
      baseUrl: wall?.baseUrl ?? '',
      keys: { main: providerKey },
      // It does not rest for this failure, so that a second request fails over too.
      providerEntry: {
        dialects: ['openai-chat'],
        type: 'OpenAI',
        breaker: { consecutiveFailures: 0, openForMs: 1, maxOpenMs: 1, rateLimitCooldownMs: 0 },
      },
      upstreamModel: `upstream-${index}`,
      dialects: ['openai-chat'],
    })),
  );
  redis = await startRedis();
  // Four of the five requests that find a model come through.
  const keys = table.keys.map((key) => ({ ...key, limits: { requestsPerMinute: 4 } }));
  rig = await startRig(
    { ...table, keys },
    {
      limits: { store: { url: redis.url, password: undefined, prefix: 'test' } },
      telemetry: readTelemetrySettings(
        {
          OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
          OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
          OTEL_TRACES_SAMPLER_ARG: '0',
          OTEL_SERVICE_NAME: 'gateway-of-the-test',
          OTEL_RESOURCE_ATTRIBUTES: 'k8s.namespace.name=here,k8s.pod.name=a%20pod',
        },
        'penstock-gateway',
      ),
      hasUsageEvents: true,
      hasLegacyTokens: true,
      random: () => 0.5,
    },
  );
  // Each asks the first target twice, and then the second. Traced by the caller; once as a stream, once plain; not traced; and to nowhere.
  await ask(
    { stream: true },
    {
      traceparent: `00-${parent.traceId}-${parent.spanId}-01`,
      tracestate: 'other=1',
      'x-client-request-id': 'mine-12345678',
    },
  );
  await ask({}, { traceparent: `00-${parent.traceId}-${parent.spanId}-01`, 'x-request-id': 'two words' });
  await ask({}, { traceparent: `00-${parent.traceId}-${parent.spanId}-00` });
  await ask({});
  expect(await ask({})).toBe(429);
  await ask({ model: canary }, { traceparent: `00-${parent.traceId}-${parent.spanId}-01` });
  useTheRest();
  pulled = await readPrometheusText(await (await fetch(`${rig.gateway.metricsUrl}/metrics`)).text());
  await rig.close();
  arrived = await collector.metrics();
  shown = await readPrometheusText(await (await fetch(collector.prometheusUrl)).text());
  // What has been taken is written a moment later.
  events = await until(async () => {
    const reported = await collector.events();
    return reported.length >= rig.records.length && reported;
  });
  const traced = events.filter(({ spanId }) => spanId !== '').length;
  spans = await until(async () => {
    const reported = await collector.spans();
    return reported.length >= 3 + traced && reported;
  });
  // The collector is built once: two minutes of two cores.
}, buildWaitMs);

afterAll(async () => {
  await collector?.close();
  await redis?.close();
  for (const wall of walls ?? []) await wall.close();
});

/** What six requests do not bring about. */
function useTheRest(): void {
  const { metrics } = rig.gateway;
  const route = { model: 'm', providerType: 'OpenAI' };
  const target = { provider: { id: 'platform/p0' }, entry: { upstreamModel: 'upstream-0' } };
  const usage = { input: 5, output: 3, cachedInput: 2, cacheWrite: 1, reasoning: 1 };
  metrics.onAttempt(makeRecord({ ...target, usage }), route);
  metrics.onAttempt(makeRecord({ ...target, entry: { ...target.entry, price: null } }), route);
  metrics.onAttempt(makeRecord({ ...target, outcome: 'failed', failure: 'truncated' }), route);
  metrics.onRequest({
    endpoint: '/chat/completions',
    model: 'm',
    status: 502,
    durationMs: 5,
    firstContentMs: undefined,
  });
  metrics.onMalformedFrames(makeRecord(target), 1);
  metrics.onStaleReuse('platform/p0');
  metrics.onNoTarget('m');
  metrics.onUnavailable('/chat/completions', 503, { model: 'm', reason: 'Suspended' });
  metrics.onTableLoaded(20);
  metrics.onTelemetryDropped('traces', 'full', 1);
  metrics.onTelemetryFailed('metrics');
}

function ask(body: object, headers: Readonly<Record<string, string>> = {}): Promise<number> {
  const { url } = rig;
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      `${url}/v1/chat/completions`,
      {
        method: 'POST',
        agent: false,
        headers: { authorization: `Bearer ${testKey}`, 'content-type': 'application/json', ...headers },
      },
      (response) => {
        response.resume();
        response.once('end', () => resolve(response.statusCode ?? 0));
      },
    );
    request.once('error', reject);
    request.end(JSON.stringify({ model: 'm', messages: [{ role: 'user', content: canary }], ...body }));
  });
}

/** Gauges of what a test does not bring about. */
const absent = new Set([
  gatewayMetrics.breakerState.name,
  gatewayMetrics.keyCooldown.name,
  gatewayMetrics.budgetSumsAge.name,
  // Of operators alone.
  gatewayMetrics.configAge.name,
]);
const rows: readonly Metric[] = Object.values(gatewayMetrics).filter(({ name }) => !absent.has(name));

describe('every metric of the table', () => {
  test.each(rows.map((row) => [row.name, row] as const))(
    '%s arrives at the collector as it is there',
    (_, row) => expectArrived(arrived, row),
  );

  test.each(rows.map((row) => [exposed(row).name, row] as const))('%s is scraped as it is there', (_, row) =>
    expectPulled(pulled, row),
  );

  test.each(rows.map((row) => [exposed(row).name, row] as const))(
    '%s is named by the collector as it is pulled',
    (_, row) => expectShown(shown, pulled, row),
  );
});

test('no metric outside of the tables is scraped or arrives, except Node.js’s own', () => {
  expect(arrived.filter(({ name }) => /^(process|nodejs)_/.test(name)).length).toBeGreaterThan(10);
  expect(unknownOf(gatewayMetrics, arrived, pulled)).toEqual([]);
});

test('a request is a child span of its caller’s, and each attempt is a child span of the request’s', () => {
  const servers = spans.filter(({ kind }) => kind === 2);
  const clients = spans.filter(({ kind }) => kind === 3);
  // Two that were traced and served, one that was traced and led nowhere; the others were not traced.
  expect(servers.map(({ name, status }) => [name, status.code ?? 0])).toEqual([
    ['POST /v1/chat/completions', 0],
    ['POST /v1/chat/completions', 0],
    ['POST /v1/chat/completions', 0],
  ]);
  const [stream, plain, lost] = servers;
  for (const server of servers)
    expect(server).toMatchObject({ traceId: parent.traceId, parentSpanId: parent.spanId });
  expect(stream?.traceState).toBe('other=1');
  expect(stream?.attributes).toMatchObject({
    'http.request.method': 'POST',
    'http.route': '/v1/chat/completions',
    'http.response.status_code': 200,
    'gen_ai.operation.name': 'chat',
    'gen_ai.request.model': 'm',
    'gen_ai.request.stream': true,
    'penstock.attempts': 3,
    'penstock.namespace': 'team',
    'penstock.request.id': expect.stringMatching(/^req_/),
    'penstock.request.client_id': 'mine-12345678',
  });
  expect(plain?.attributes).not.toHaveProperty('penstock.request.client_id');
  expect(plain?.attributes).not.toHaveProperty('gen_ai.response.time_to_first_chunk');
  expect(lost?.attributes).toMatchObject({ 'http.response.status_code': 404, 'error.type': '404' });
  expect(lost?.attributes).not.toHaveProperty('gen_ai.request.model');

  const ofStream = clients.filter(({ parentSpanId }) => parentSpanId === stream?.spanId);
  expect(ofStream.map(({ name, status }) => [name, status.code ?? 0])).toEqual([
    ['chat upstream-0', 2],
    ['chat upstream-0', 2],
    ['chat upstream-1', 0],
  ]);
  expect(ofStream[0]?.attributes).toMatchObject({
    'error.type': 'status_500',
    'http.response.status_code': 500,
  });
  expect(ofStream[2]?.attributes).toMatchObject({
    'gen_ai.provider.name': 'openai',
    'gen_ai.request.model': 'upstream-1',
    'gen_ai.response.model': 'upstream-1',
    'server.address': '127.0.0.1',
    'penstock.provider': 'platform/p1',
    'penstock.outcome': 'answered',
    'penstock.attempt': 3,
  });
  expect(Number(ofStream[2]?.attributes['gen_ai.usage.output_tokens'])).toBeGreaterThan(0);
  expect(Number(ofStream[2]?.attributes['penstock.cost_usd'])).toBeGreaterThan(0);
  for (const { startTimeUnixNano, endTimeUnixNano } of spans)
    expect(endTimeUnixNano).toBeGreaterThan(startTimeUnixNano);
});

test('a failover is counted once for each request, by the target that failed', () => {
  const failovers = familyOf(pulled, 'penstock_failovers_total')?.samples.map(({ labels, value }) => [
    labels,
    Number(value),
  ]);
  expect(failovers).toEqual([[{ model: 'm', provider: 'platform/p0', failure: 'status_500' }, 4]]);
});

test('an upstream gets the trace context of its attempt, or that of the caller', () => {
  const parents = walls[1]?.calls.map(({ headers }) => headers.traceparent);
  const answered = spans
    .filter(({ name }) => name === 'chat upstream-1')
    .map(({ spanId }) => `00-${parent.traceId}-${spanId}-01`);
  expect(parents).toEqual([...answered, `00-${parent.traceId}-${parent.spanId}-00`, undefined]);
  expect(walls[1]?.calls.map(({ headers }) => headers.tracestate)).toEqual([
    'other=1',
    undefined,
    undefined,
    undefined,
  ]);
});

test('every ledger record is an event with its numbers, under the span of its attempt', () => {
  expect(events.map(({ eventName }) => eventName)).toEqual(rig.records.map(() => 'penstock.usage'));
  for (const [index, record] of rig.records.entries()) {
    expect(events[index]?.attributes).toMatchObject({
      'penstock.usage.id': record.id,
      'penstock.usage.tokens.input': record.usage.input,
      'penstock.usage.cost_picodollars': record.costPicodollars,
      'penstock.usage.payer': record.payer,
      'penstock.usage.api_key': 'team/key',
    });
  }
  const traced = events.slice(0, 6).map(({ spanId }) => spanId);
  expect(traced).toEqual(spans.filter(({ kind }) => kind === 3).map(({ spanId }) => spanId));
  expect(new Set(events.slice(6).map(({ spanId }) => spanId))).toEqual(new Set(['']));
});

test('a resource names its service and pod, and nothing of the machine', async () => {
  for (const attributes of await collector.resources()) {
    expect(attributes).toEqual({
      'service.name': 'gateway-of-the-test',
      'service.version': expect.any(String),
      'service.instance.id': expect.stringMatching(/^[0-9a-f-]{36}$/),
      'telemetry.sdk.language': 'nodejs',
      'telemetry.sdk.name': 'opentelemetry',
      'telemetry.sdk.version': expect.any(String),
      'k8s.namespace.name': 'here',
      'k8s.pod.name': 'a pod',
    });
  }
});

test('no prompt, answer or credential arrives anywhere', async () => {
  expect(walls[1]?.calls[0]?.bodyText).toContain(canary);
  const text = (await collector.everything()) + JSON.stringify([pulled, shown]);
  for (const secret of [canary, answerCanary, providerKey, testKey]) expect(text).not.toContain(secret);
});
