// What does a scrape of a gateway show, and is that what happened?

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { exposed } from '../../../core/telemetry/metric.ts';
import { openCounted } from '../../../gateway/meter/counted.ts';
import { HotCounter, HotHistogram, Registry } from '../../../gateway/meter/hot-metrics.ts';
import { LimitMetrics } from '../../../gateway/meter/limit-metrics.ts';
import { gatewayMetrics } from '../../../gateway/meter/metric-table.ts';
import { Metrics } from '../../../gateway/meter/metrics.ts';
import type { MetricOptions } from '../../../gateway/meter/request-metrics.ts';
import { buildTableView } from '../../../gateway/table/view.ts';
import { tableOf } from '../rig.ts';
import { type Family, parseExposition, type Sample } from './exposition.ts';
import { makeRecord } from './make-facts.ts';

const makeMetrics = (options: MetricOptions = {}) =>
  new Metrics(
    {
      tableGeneration: () => 7,
      requestsInFlight: () => 3,
      tableSource: () => 'copy',
      tableAgeSeconds: () => 12,
      breakers: () => [
        { provider: 'platform/p', phase: 'half-open' },
        { provider: 'platform/p', upstreamModel: 'large', phase: 'open' },
      ],
      coolingKeys: () => [
        { provider: 'platform/p', key: 'main', upstreamModel: 'large', reason: 'rate-limit', forMs: 1_500 },
        { provider: 'platform/p', key: 'main', reason: 'out-of-money', forMs: 9_000 },
      ],
      load: {
        loopDelaySeconds: () => 0,
        bodyBytes: () => 0,
        answerBytes: () => 0,
        heapShare: () => 0.1,
        inFlightMax: () => 4_096,
      },
    },
    options,
  );

/** Every metric that there is, with at least one series. */
function usedMetrics(): Metrics {
  const metrics = makeMetrics({ hasLegacyTokens: true });
  const usage = { input: 5, output: 3, cachedInput: 2, cacheWrite: 1, reasoning: 1 };
  metrics.onRequest(request);
  metrics.onAttempt(makeRecord({ firstContentMs: 3, usage }), route);
  metrics.onAttempt(makeRecord({ outcome: 'failed', failure: 'truncated' }), route);
  metrics.onAttempt(makeRecord({ entry: { price: null } }), route);
  metrics.onFailover('m', 'platform/p', 'truncated');
  metrics.onMalformedFrames(makeRecord(), 1);
  metrics.onTableLoaded(1);
  metrics.onStaleReuse('platform/p');
  metrics.onNoTarget('m');
  metrics.onUnavailable('/chat/completions', 503, { model: 'm', reason: 'Suspended' });
  metrics.onTelemetryDropped('traces', 'full', 1);
  metrics.onTelemetryFailed('metrics');
  return metrics;
}

const familiesOf = async ({ registry }: { registry: Registry }): Promise<readonly Family[]> =>
  parseExposition(await registry.metrics());

async function samplesOf(source: { registry: Registry }, name: string): Promise<readonly Sample[]> {
  const family = (await familiesOf(source)).find((other) => other.name === name);
  if (!family) throw new Error(`no metric ${name}`);
  return family.samples;
}

/** Of what is counted by model or provider. */
async function seriesOf({ registry }: { registry: Registry }): Promise<readonly string[]> {
  const text = await registry.metrics();
  return text.split('\n').flatMap((line) => /^\w+\{.*(?:model|provider)=.*\}/.exec(line) ?? []);
}

const route = { model: 'm', providerType: 'OpenAI' };

const request = {
  endpoint: '/chat/completions',
  model: 'm',
  status: 200,
  durationMs: 50,
  firstContentMs: 15,
};

describe('a counter', () => {
  test('has the sum of all increments for every combination of labels', async () => {
    const label = fc.constantFrom('a', 'b', '', 'a"b', 'a\\b', 'a\nb', '\n', 'é😀', '{},=');
    const step = fc.tuple(fc.nat({ max: 1_000_000 }), label, label);
    await fc.assert(
      fc.asyncProperty(fc.array(step), async (steps) => {
        const registry = new Registry();
        const counter = new HotCounter(registry, { name: 'c_total', help: 'h', labels: ['x', 'y'] });
        const sums = new Map<string, number>();
        for (const [count, x, y] of steps) {
          counter.add(count, x, y);
          const key = JSON.stringify({ x, y });
          sums.set(key, (sums.get(key) ?? 0) + count);
        }
        const shown = (await samplesOf({ registry }, 'c_total')).map(({ labels, value }) => [
          JSON.stringify({ x: labels.x, y: labels.y }),
          value,
        ]);
        expect(Object.fromEntries(shown)).toEqual(Object.fromEntries(sums));
        expect(shown).toHaveLength(sums.size);
      }),
      { seed: 17, numRuns: 200 },
    );
  });
});

describe('a histogram', () => {
  test('has cumulative buckets, a sum and a count that fit the values', async () => {
    const bounds = [0.1, 1, 10];
    const value = fc.oneof(fc.constantFrom(0, 0.1, 1, 10, 10.5), fc.double({ min: 0, max: 20, noNaN: true }));
    await fc.assert(
      fc.asyncProperty(fc.array(value, { minLength: 1 }), async (values) => {
        const registry = new Registry();
        const histogram = new HotHistogram(registry, { name: 'h', help: 'h', labels: ['x'], bounds });
        for (const observed of values) histogram.observe(observed, 'a');
        const samples = await samplesOf({ registry }, 'h');
        const below = (bound: number): number => values.filter((observed) => observed <= bound).length;
        expect(samples.slice(0, -2)).toEqual([
          ...bounds.map((le) => ({ name: 'h_bucket', labels: { x: 'a', le: String(le) }, value: below(le) })),
          { name: 'h_bucket', labels: { x: 'a', le: '+Inf' }, value: values.length },
        ]);
        expect(samples.at(-2)?.value).toBeCloseTo(
          values.reduce((sum, observed) => sum + observed, 0),
          6,
        );
        expect(samples.at(-1)).toEqual({ name: 'h_count', labels: { x: 'a' }, value: values.length });
      }),
      { seed: 19, numRuns: 200 },
    );
  });

  test('keeps series with different labels apart', async () => {
    const registry = new Registry();
    const histogram = new HotHistogram(registry, { name: 'h', help: 'h', labels: ['x', 'y'], bounds: [1] });
    histogram.observe(0.5, 'a', 'b\nc');
    histogram.observe(5, 'a\nb', 'c');
    const samples = await samplesOf({ registry }, 'h');
    expect(samples.filter(({ name }) => name === 'h_count').map(({ value }) => value)).toEqual([1, 1]);
  });
});

describe('the metrics of a gateway', () => {
  test('count requests, and measure them in seconds', async () => {
    const metrics = makeMetrics();
    metrics.onRequest(request);
    metrics.onRequest({ ...request, durationMs: 150 });
    metrics.onRequest({ ...request, status: 499, firstContentMs: undefined });
    expect(await samplesOf(metrics, 'penstock_requests_total')).toEqual([
      {
        name: 'penstock_requests_total',
        labels: { endpoint: '/chat/completions', model: 'm', status: '200' },
        value: 2,
      },
      {
        name: 'penstock_requests_total',
        labels: { endpoint: '/chat/completions', model: 'm', status: '499' },
        value: 1,
      },
    ]);
    const durations = await samplesOf(metrics, 'penstock_request_duration_seconds');
    expect(durations.find(({ labels }) => labels.le === '0.08')?.value).toBe(2);
    expect(durations.at(-2)?.value).toBeCloseTo(0.25, 9);
    expect(durations.at(-1)?.value).toBe(3);
    const firsts = await samplesOf(metrics, 'penstock_time_to_first_token_seconds');
    expect(firsts.at(-1)?.value).toBe(2);
    expect(firsts.find(({ labels }) => labels.le === '0.02')?.value).toBe(2);
  });

  const genAi = {
    gen_ai_operation_name: 'chat',
    gen_ai_provider_name: 'openai',
    gen_ai_request_model: 'upstream-0',
    penstock_provider: 'platform/p',
  };

  test('count an attempt by the conventions for generative AI, by upstream and failure', async () => {
    const metrics = makeMetrics();
    const usage = { input: 100, cachedInput: 30, cacheWrite: 0, output: 50, reasoning: 20 };
    metrics.onAttempt(makeRecord({ usage, durationMs: 1_200, firstContentMs: 220 }), route);
    metrics.onAttempt(
      makeRecord({
        usage: undefined,
        outputEstimate: 0,
        outcome: 'failed',
        failure: 'status_500',
        durationMs: 10,
      }),
      route,
    );
    metrics.onAttempt(makeRecord({ outcome: 'cancelled', upstreamDialect: 'openai-completions' }), route);
    const counts = (await samplesOf(metrics, 'gen_ai_client_operation_duration_seconds')).filter(({ name }) =>
      name.endsWith('_count'),
    );
    expect(counts.map(({ labels, value }) => [labels, value])).toEqual([
      [{ ...genAi, error_type: '' }, 1],
      [{ ...genAi, error_type: 'status_500' }, 1],
      [{ ...genAi, gen_ai_operation_name: 'text_completion', error_type: 'cancelled' }, 1],
    ]);
    const labels = { ...genAi, gen_ai_token_modality: 'unknown' };
    const reported = async (name: string) =>
      (await samplesOf(metrics, `gen_ai_client_inference_usage_${name}_tokens_total`))[0];
    expect(await reported('input')).toMatchObject({ labels, value: 100 });
    expect(await reported('output')).toMatchObject({ labels, value: 50 });
    expect(await reported('cache_read_input')).toMatchObject({ labels, value: 30 });
    expect(await reported('cache_write_input')).toBeUndefined();
    expect(await reported('reasoning_output')).toMatchObject({ labels, value: 20 });
    const perToken = await samplesOf(metrics, 'gen_ai_server_time_per_output_token_seconds');
    expect(perToken.at(-2)?.value).toBeCloseTo(0.98 / 49, 9);
    expect(perToken.at(-1)).toMatchObject({
      labels: { gen_ai_operation_name: 'chat', gen_ai_provider_name: 'penstock', gen_ai_request_model: 'm' },
      value: 1,
    });
  });

  test('show how many tokens attempts have, without those that used none', async () => {
    const metrics = makeMetrics();
    metrics.onAttempt(makeRecord(), route);
    metrics.onAttempt(makeRecord({ usage: undefined, outputEstimate: 0, outcome: 'failed' }), route);
    for (const [kind, tokens, below, above] of [
      ['input', 100, '64', '256'],
      ['output', 50, '16', '64'],
    ] as const) {
      const samples = await samplesOf(metrics, `gen_ai_client_inference_operation_${kind}_tokens`);
      expect(samples.at(-2)).toMatchObject({ labels: genAi, value: tokens });
      expect(samples.at(-1)).toMatchObject({ labels: genAi, value: 1 });
      const upTo = (le: string) => samples.find(({ labels }) => labels.le === le)?.value;
      expect([upTo(below), upTo(above), upTo('67108864')]).toEqual([0, 1, 1]);
    }
  });

  test('show the tokens of an attempt as a histogram too, where that is asked for', async () => {
    const metrics = makeMetrics({ hasLegacyTokens: true });
    metrics.onAttempt(makeRecord(), route);
    const sums = (await samplesOf(metrics, 'gen_ai_client_token_usage')).filter(({ name }) =>
      name.endsWith('_sum'),
    );
    expect(sums.map(({ labels, value }) => [labels.gen_ai_token_type, value])).toEqual([
      ['input', 100],
      ['output', 50],
    ]);
  });

  test('report cost in dollars, by payer, and the number of attempts without a price', async () => {
    const metrics = makeMetrics();
    metrics.onAttempt(makeRecord(), route);
    metrics.onAttempt(makeRecord({ outcome: 'failed', failure: 'truncated' }), route);
    metrics.onAttempt(makeRecord({ entry: { price: null } }), route);
    metrics.onAttempt(makeRecord({ provider: { id: 'team/own', isPlatform: false } }), route);
    // 100 tokens at 1 and 50 at 2 millionths of a dollar.
    const costs = await samplesOf(metrics, 'penstock_cost_usd_total');
    expect(costs.map(({ labels, value }) => [labels.payer, value])).toEqual([
      ['tenant', 0.0002],
      ['platform', 0.0002],
    ]);
    expect(await samplesOf(metrics, 'penstock_unpriced_attempts_total')).toMatchObject([
      { labels: { model: 'm', provider: 'platform/p' }, value: 1 },
    ]);
  });

  test('forget series of objects that left the table, and keep the others', async () => {
    const metrics = makeMetrics();
    const count = (model: string, provider: string, upstreamModel: string): void => {
      metrics.onRequest({ ...request, model });
      metrics.onStaleReuse(provider);
      metrics.onNoTarget(model);
      for (const outcome of ['answered', 'failed'] as const) {
        const record = makeRecord({ isStream: true, firstContentMs: 5, outcome });
        metrics.onAttempt({ ...record, provider, upstreamModel }, { ...route, model });
      }
    };
    count('m', 'platform/p', 'large');
    const before = (await seriesOf(metrics)).toSorted();
    count('m', 'platform/p', 'small');
    count('m', 'platform/q', 'large');
    count('n', 'platform/p', 'large');
    expect((await seriesOf(metrics)).length).toBeGreaterThan(before.length);
    const table = tableOf([
      { baseUrl: 'http://127.0.0.1:9/v1', provider: 'platform/p', upstreamModel: 'large' },
    ]);
    metrics.adopt(buildTableView(table));
    expect((await seriesOf(metrics)).toSorted()).toEqual(before);
    count('m', 'platform/p', 'large');
    const requests = await samplesOf(metrics, 'penstock_requests_total');
    expect(requests.map(({ value }) => value)).toEqual([4]);
  });

  test('start at 0 for calls without a price if there may be some, so that an alert sees the first', async () => {
    const metrics = makeMetrics();
    const upstream = { baseUrl: 'http://127.0.0.1:9/v1' };
    const priced = tableOf([
      { ...upstream, provider: 'platform/p', price: { input: 1, output: 1, source: 'target' } },
    ]);
    metrics.adopt(buildTableView(priced));
    expect(await samplesOf(metrics, 'penstock_unpriced_attempts_total')).toEqual([]);
    metrics.adopt(buildTableView(tableOf([{ ...upstream, provider: 'platform/p', price: null }])));
    expect(await samplesOf(metrics, 'penstock_unpriced_attempts_total')).toMatchObject([
      { labels: { model: 'm', provider: 'platform/p' }, value: 0 },
    ]);
  });

  test('start at 0 for costs of every possible payer, so that the first call of each is an increase', async () => {
    const metrics = makeMetrics();
    const upstream = { baseUrl: 'http://127.0.0.1:9/v1' };
    const own = { ...upstream, provider: 'team/own', providerEntry: { isPlatform: false } };
    const unpriced = { ...upstream, provider: 'platform/q', price: null };
    const adopt = () =>
      metrics.adopt(buildTableView(tableOf([{ ...upstream, provider: 'platform/p' }, own, unpriced])));
    const costs = async () =>
      (await samplesOf(metrics, 'penstock_cost_usd_total')).map(({ labels, value }) => [
        `${labels.model} ${labels.provider} ${labels.payer}`,
        value,
      ]);
    adopt();
    expect(await costs()).toEqual([
      ['m platform/p tenant', 0],
      ['m platform/p platform', 0],
    ]);
    metrics.onAttempt(makeRecord(), route);
    adopt();
    expect(await costs()).toEqual([
      ['m platform/p tenant', 0.0002],
      ['m platform/p platform', 0],
    ]);
  });

  test('count attempts and tokens, without series for kinds that were not used', async () => {
    const metrics = makeMetrics();
    const usage = { input: 10, cachedInput: 4, cacheWrite: 3, output: 5, reasoning: 2 };
    metrics.onAttempt(makeRecord({ usage }), route);
    metrics.onAttempt(
      makeRecord({ usage: { ...usage, cachedInput: 0, cacheWrite: 0, reasoning: 0 } }),
      route,
    );
    metrics.onAttempt(makeRecord({ usage, outputEstimate: 4, outcome: 'failed', failure: 'timeout' }), {
      ...route,
      model: 'other',
    });
    const tokens = (await samplesOf(metrics, 'penstock_tokens_total')).map(({ labels, value }) => [
      `${labels.model} ${labels.provider} ${labels.kind}`,
      value,
    ]);
    expect(Object.fromEntries(tokens)).toEqual({
      'm platform/p input': 20,
      'm platform/p cached_input': 4,
      'm platform/p cache_write': 3,
      'm platform/p output': 10,
      'm platform/p reasoning': 2,
      'other platform/p input': 10,
      'other platform/p cached_input': 4,
      'other platform/p cache_write': 3,
      'other platform/p output': 5,
      'other platform/p reasoning': 2,
    });
    const attempts = (await samplesOf(metrics, 'penstock_attempts_total')).map(({ labels, value }) => [
      ...[labels.provider, labels.upstream_model, labels.outcome, labels.failure],
      value,
    ]);
    expect(attempts).toEqual([
      ['platform/p', 'upstream-0', 'answered', '', 2],
      ['platform/p', 'upstream-0', 'failed', 'timeout', 1],
    ]);
  });

  test('report how streams of upstreams began and ended', async () => {
    const metrics = makeMetrics();
    const first = { firstContentMs: 30 };
    metrics.onAttempt(makeRecord(first), route);
    metrics.onAttempt(makeRecord(first), route);
    const ends = [
      ['broken-off', 'timeout_liveness', 'stall'],
      ['broken-off', 'timeout_progress', 'stall'],
      ['broken-off', 'timeout_total', 'timeout'],
      ['broken-off', 'truncated', 'truncated'],
      ['failed', 'malformed', 'malformed'],
      ['broken-off', 'error_event', 'error'],
      ['broken-off', 'a new word', 'other'],
      ['cancelled', undefined, 'cancelled'],
    ] as const;
    for (const [outcome, failure] of ends) {
      metrics.onAttempt(makeRecord({ ...first, outcome, failure }), route);
    }
    // Neither brought content in a stream.
    metrics.onAttempt(
      makeRecord({ firstContentMs: undefined, outcome: 'failed', failure: 'truncated' }),
      route,
    );
    metrics.onAttempt(makeRecord({ ...first, isStream: false }), route);
    const seen = await samplesOf(metrics, 'penstock_stream_end_total');
    const expected: Record<string, number> = { complete: 2 };
    for (const [, , end] of ends) expected[end] = (expected[end] ?? 0) + 1;
    expect(Object.fromEntries(seen.map(({ labels, value }) => [labels.end, value]))).toEqual(expected);
    const firsts = await samplesOf(metrics, 'penstock_first_event_seconds');
    expect(firsts.at(-1)?.value).toBe(2 + ends.length);
    expect(firsts.at(-2)?.value).toBeCloseTo(0.03 * (2 + ends.length), 9);
  });

  test('show breakers and keys in cooldown as they are when read', async () => {
    const metrics = makeMetrics();
    for (const _ of [1, 2]) {
      const breakers = await samplesOf(metrics, 'penstock_breaker_state');
      expect(breakers.map(({ labels, value }) => [labels.upstream_model, labels.state, value])).toEqual([
        ['', 'half-open', 1],
        ['large', 'open', 1],
      ]);
      expect(await samplesOf(metrics, 'penstock_key_cooldown_seconds')).toEqual([
        {
          name: 'penstock_key_cooldown_seconds',
          labels: { provider: 'platform/p', key: 'main', upstream_model: 'large', reason: 'rate-limit' },
          value: 1.5,
        },
        {
          name: 'penstock_key_cooldown_seconds',
          labels: { provider: 'platform/p', key: 'main', upstream_model: '', reason: 'out-of-money' },
          value: 9,
        },
      ]);
    }
  });

  test('count stale connections by provider, and requests without a target by model', async () => {
    const metrics = makeMetrics();
    metrics.onStaleReuse('platform/p');
    metrics.onNoTarget('m');
    metrics.onNoTarget('m');
    expect(await samplesOf(metrics, 'penstock_stale_reuse_total')).toEqual([
      { name: 'penstock_stale_reuse_total', labels: { provider: 'platform/p' }, value: 1 },
    ]);
    expect(await samplesOf(metrics, 'penstock_no_target_total')).toEqual([
      { name: 'penstock_no_target_total', labels: { model: 'm' }, value: 2 },
    ]);
  });

  test('start alarms at 0, and count them', async () => {
    const metrics = makeMetrics();
    const alarms = [
      ['penstock_authentication_failures_total', () => metrics.onAuthenticationFailure(), 1],
      ['penstock_ledger_records_dropped_total', () => metrics.onLedgerDropped(5), 5],
    ] as const;
    for (const [name, ring, by] of alarms) {
      expect(await samplesOf(metrics, name)).toEqual([{ name, labels: {}, value: 0 }]);
      ring();
      ring();
      expect(await samplesOf(metrics, name)).toEqual([{ name, labels: {}, value: 2 * by }]);
    }
  });

  test('count refused tables by reason, with every reason from the start', async () => {
    const metrics = makeMetrics();
    const counts = async () => {
      const samples = await samplesOf(metrics, 'penstock_tables_refused_total');
      return Object.fromEntries(samples.map(({ labels, value }) => [labels.reason, value]));
    };
    const none = { 'too-new': 0, invalid: 0, older: 0, incomplete: 0, corrupt: 0, unreachable: 0 };
    expect(await counts()).toEqual(none);
    metrics.onTableRefused('corrupt');
    metrics.onTableRefused('corrupt');
    metrics.onTableRefused('too-new');
    expect(await counts()).toEqual({ ...none, corrupt: 2, 'too-new': 1 });
  });

  test('count lookups of names that failed or were late, both from the start', async () => {
    const metrics = makeMetrics();
    const counts = async () => {
      const samples = await samplesOf(metrics, 'penstock_dns_lookup_failures_total');
      return Object.fromEntries(samples.map(({ labels, value }) => [labels.reason, value]));
    };
    expect(await counts()).toEqual({ failed: 0, late: 0 });
    metrics.onLookupMiss('late');
    expect(await counts()).toEqual({ failed: 0, late: 1 });
  });

  test('report the source of the table, its delay and its age', async () => {
    const metrics = makeMetrics();
    metrics.onTableLoaded(250);
    metrics.onReadyGateways(4);
    const sources = await samplesOf(metrics, 'penstock_table_source');
    expect(sources.map(({ labels, value }) => [labels.source, value])).toEqual([
      ['api', 0],
      ['copy', 1],
      ['file', 0],
    ]);
    expect((await samplesOf(metrics, 'penstock_table_load_seconds')).at(-2)?.value).toBeCloseTo(0.25, 9);
    expect((await samplesOf(metrics, 'penstock_config_age_seconds'))[0]?.value).toBe(12);
    expect((await samplesOf(metrics, 'penstock_ready_gateways'))[0]?.value).toBe(4);
  });

  test('show no age without a source to ask, and no source before the first table', async () => {
    const metrics = new Metrics({
      tableGeneration: () => 0,
      requestsInFlight: () => 0,
      tableSource: () => undefined,
      tableAgeSeconds: () => undefined,
      breakers: () => [],
      coolingKeys: () => [],
    });
    expect(await samplesOf(metrics, 'penstock_config_age_seconds')).toEqual([]);
    expect((await samplesOf(metrics, 'penstock_table_source')).map(({ value }) => value)).toEqual([0, 0, 0]);
  });

  test('ask the process when they are read', async () => {
    const readings = { generation: 0, open: 0 };
    const metrics = new Metrics({
      tableGeneration: () => readings.generation,
      requestsInFlight: () => readings.open,
      tableSource: () => 'file',
      tableAgeSeconds: () => undefined,
      breakers: () => [],
      coolingKeys: () => [],
    });
    for (const value of [0, 5, 2]) {
      Object.assign(readings, { generation: value, open: value + 1 });
      expect((await samplesOf(metrics, 'penstock_table_generation'))[0]?.value).toBe(value);
      expect((await samplesOf(metrics, 'penstock_requests_in_flight'))[0]?.value).toBe(value + 1);
    }
  });

  test('of two gateways in one process do not mix', async () => {
    const [one, other] = [makeMetrics(), makeMetrics()];
    one.onRequest(request);
    expect(await samplesOf(one, 'penstock_requests_total')).toHaveLength(1);
    expect(await samplesOf(other, 'penstock_requests_total')).toEqual([]);
  });

  // A label that a caller can fill would let one key with a loop take the memory of the pod, and of Prometheus.
  test('gain no series from texts of callers', async () => {
    const metrics = makeMetrics();
    const ours = async (): Promise<number> =>
      (await familiesOf(metrics))
        .filter(({ name }) => /^(penstock|gen_ai)_/.test(name))
        .reduce((sum, { samples }) => sum + samples.length, 0);
    const attempt = (word: string): void =>
      metrics.onAttempt(
        makeRecord({
          requestId: word,
          model: word,
          key: { id: `team/${word}`, metadata: { word }, owner: { name: word } },
          estimateInput: () => word.length,
        }),
        route,
      );
    attempt('first');
    metrics.onRequest(request);
    const before = await ours();
    for (let index = 0; index < 200; index++) {
      attempt(`caller-${index}`);
      metrics.onRequest({ ...request, durationMs: index, firstContentMs: index });
    }
    expect(await ours()).toBe(before);
    expect(await metrics.registry.metrics()).not.toContain('caller-');
  });
});

describe('the table of metrics', () => {
  const rowOf = ({ name, type, labels }: Row): Row => ({ name, type, labels: labels.toSorted() });
  interface Row {
    readonly name: string;
    readonly type: string;
    readonly labels: readonly string[];
  }

  test('has a row for every metric of the gateway, with its type and labels, and no other', async () => {
    const metrics = usedMetrics();
    const limits = new LimitMetrics(metrics.registry, {
      mode: () => 'local',
      held: () => 0,
      sumsAgeMs: () => 0,
    });
    limits.onLimited('api-key', 'requests');
    limits.onCall(1);
    const exported = (await familiesOf(metrics))
      .filter(({ name }) => !/^(process|nodejs)_/.test(name))
      .map(({ name, type, samples }) => ({
        name,
        type,
        labels: Object.keys(samples[0]?.labels ?? {}).filter((label) => label !== 'le'),
      }));
    const rows = Object.values(gatewayMetrics).map((metric) => ({ ...exposed(metric), type: metric.type }));
    const byName = (a: Row, b: Row): number => a.name.localeCompare(b.name);
    expect(exported.map(rowOf).toSorted(byName)).toEqual(rows.map(rowOf).toSorted(byName));
  });

  test('has the older histogram of tokens only where it is asked for', async () => {
    const text = await makeMetrics().registry.metrics();
    expect(text).toContain('gen_ai_client_operation_duration_seconds');
    expect(text).not.toContain('gen_ai_client_token_usage');
  });
});

test('a new counter needs its row alone: it is registered, starts at 0, and loses series of removed models', async () => {
  const registry = new Registry();
  const row = { type: 'counter', unit: '', help: 'h', meaning: 'm' } as const;
  const { counters, retain } = openCounted(registry, {
    plain: { ...row, name: 'penstock.plain', labels: [] },
    byModel: { ...row, name: 'penstock.by_model', labels: ['model'] },
  });
  counters.byModel.add(1, 'kept');
  counters.byModel.add(1, 'gone');
  retain((labelOf) => labelOf('model') !== 'gone');
  expect(await samplesOf({ registry }, 'penstock_plain_total')).toEqual([
    { name: 'penstock_plain_total', labels: {}, value: 0 },
  ]);
  expect(await samplesOf({ registry }, 'penstock_by_model_total')).toEqual([
    { name: 'penstock_by_model_total', labels: { model: 'kept' }, value: 1 },
  ]);
});
