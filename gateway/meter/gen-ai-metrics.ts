// Which metrics follow the OpenTelemetry conventions for generative AI? They count the same requests and attempts
// as our own metrics, for dashboards that already use those names.

import type { Registry } from 'prom-client';
import {
  type DialectName,
  UPSTREAM_DIALECTS,
  type UpstreamDialectName,
  upstreamDialectNames,
} from '../../core/catalog/dialects.ts';
import { isProviderType, PROVIDER_TYPES } from '../../core/catalog/provider-types.ts';
import { exposed, type Metric } from '../../core/telemetry/metric.ts';
import { genAiMetrics as table } from './gen-ai-table.ts';
import { type CounterSeries, type HistogramSeries, HotCounter, HotHistogram } from './hot-metrics.ts';
import type { RatedAttempt } from './ledger.ts';

/** Facts of an attempt that its record does not have. */
export interface AttemptRoute {
  /** The route's own id, not what the caller wrote. */
  readonly model: string;
  /** Of the Provider, such as `OpenAI`. */
  readonly providerType: string;
}

interface RequestFacts {
  readonly status: number;
  readonly durationMs: number;
  readonly firstContentMs: number | undefined;
}

/** Of an endpoint and a model. */
export interface GenAiRequests {
  readonly labels: readonly [operation: string, provider: string, model: string];
  readonly durations: HistogramSeries;
  readonly firstTokens: HistogramSeries;
}

/** Of a model at an upstream, and of the dialects that it is called in. */
export interface GenAiAttempts {
  readonly upstreamDialect: UpstreamDialectName;
  readonly clientDialect: DialectName;
  readonly labels: readonly [operation: string, provider: string, model: string, providerId: string];
  readonly durations: HistogramSeries;
  readonly firstChunks: HistogramSeries;
  readonly perToken: HistogramSeries;
  readonly input: CounterSeries;
  readonly output: CounterSeries;
  readonly inputSizes: HistogramSeries;
  readonly outputSizes: HistogramSeries;
}

/** Requests are served by the gateway itself. */
const ownName = 'penstock';
/** No upstream tells its tokens apart in a way that all share. */
const modality = 'unknown';

/** @param providerType As the table has it; a newer operator may know more. */
export function providerNameOf(providerType: string): string {
  return isProviderType(providerType) ? PROVIDER_TYPES[providerType].telemetryName : 'other';
}

/** @param name A dialect, or the path of one. */
export function operationOf(name: UpstreamDialectName | string): 'chat' | 'text_completion' {
  return operations.get(name) ?? 'chat';
}

const operations = new Map(
  upstreamDialectNames.flatMap((name) => {
    const { path, operation } = UPSTREAM_DIALECTS[name];
    return [[name, operation] as const, [path, operation] as const];
  }),
);

export class GenAiMetrics {
  private readonly registry: Registry;
  private readonly durations;
  private readonly firstChunks;
  private readonly input;
  private readonly output;
  private readonly cacheRead;
  private readonly cacheWrite;
  private readonly reasoning;
  private readonly inputSizes;
  private readonly outputSizes;
  private readonly legacyTokens: HotHistogram<string> | undefined;
  private readonly requestDurations;
  private readonly firstTokens;
  private readonly perToken;

  constructor(registry: Registry, hasLegacyTokens: boolean) {
    this.registry = registry;
    this.durations = this.histogram(table.clientOperationDuration);
    this.firstChunks = this.histogram(table.clientTimeToFirstChunk);
    this.input = this.counter(table.clientInputTokens);
    this.output = this.counter(table.clientOutputTokens);
    this.cacheRead = this.counter(table.clientCacheReadTokens);
    this.cacheWrite = this.counter(table.clientCacheWriteTokens);
    this.reasoning = this.counter(table.clientReasoningTokens);
    this.inputSizes = this.histogram(table.clientOperationInputTokens);
    this.outputSizes = this.histogram(table.clientOperationOutputTokens);
    this.legacyTokens = hasLegacyTokens ? this.histogram(table.clientTokenUsage) : undefined;
    this.requestDurations = this.histogram(table.serverRequestDuration);
    this.firstTokens = this.histogram(table.serverTimeToFirstToken);
    this.perToken = this.histogram(table.serverTimePerOutputToken);
  }

  /** Only series of these stay; `upstreams` are provider and upstream model with a space between. */
  retain(models: ReadonlySet<string>, upstreams: ReadonlySet<string>): void {
    for (const metric of [
      ...[this.durations, this.firstChunks],
      ...[this.input, this.output, this.cacheRead, this.cacheWrite, this.reasoning],
      ...[this.inputSizes, this.outputSizes, this.legacyTokens],
    ])
      metric?.retain((labelOf) =>
        upstreams.has(`${labelOf('penstock_provider')} ${labelOf('gen_ai_request_model')}`),
      );
    for (const metric of [this.requestDurations, this.firstTokens, this.perToken])
      metric.retain((labelOf) => models.has(labelOf('gen_ai_request_model') ?? ''));
  }

  requests(endpoint: string, model: string): GenAiRequests {
    const labels = [operationOf(endpoint), ownName, model] as const;
    return {
      labels,
      durations: this.requestDurations.series(...labels, ''),
      firstTokens: this.firstTokens.series(...labels),
    };
  }

  onRequest(series: GenAiRequests, { status, durationMs, firstContentMs }: RequestFacts): void {
    if (status < 400) series.durations.observe(durationMs / 1000);
    // The conventions name errors of HTTP by their status.
    else this.requestDurations.observe(durationMs / 1000, ...series.labels, String(status));
    if (firstContentMs !== undefined) series.firstTokens.observe(firstContentMs / 1000);
  }

  attempts(
    { provider, upstreamModel, upstreamDialect, clientDialect }: RatedAttempt,
    { model, providerType }: AttemptRoute,
  ): GenAiAttempts {
    const labels = [
      operationOf(upstreamDialect),
      providerNameOf(providerType),
      upstreamModel,
      provider,
    ] as const;
    return {
      upstreamDialect,
      clientDialect,
      labels,
      durations: this.durations.series(...labels, ''),
      firstChunks: this.firstChunks.series(...labels),
      perToken: this.perToken.series(operationOf(clientDialect), ownName, model),
      input: this.input.series(...labels, modality),
      output: this.output.series(...labels, modality),
      inputSizes: this.inputSizes.series(...labels),
      outputSizes: this.outputSizes.series(...labels),
    };
  }

  onAttempt(series: GenAiAttempts, record: RatedAttempt): void {
    const { usage, outcome, durationMs, firstContentMs } = record;
    if (outcome === 'answered') series.durations.observe(durationMs / 1000);
    else this.durations.observe(durationMs / 1000, ...series.labels, record.failure ?? outcome);
    if (record.isStream && firstContentMs !== undefined) {
      series.firstChunks.observe(firstContentMs / 1000);
      if (outcome === 'answered' && usage.output > 1)
        series.perToken.observe((durationMs - firstContentMs) / 1000 / (usage.output - 1));
    }
    // A failed call without usage adds 0.
    series.input.count += usage.input;
    series.output.count += usage.output;
    if (usage.cachedInput > 0) this.cacheRead.add(usage.cachedInput, ...series.labels, modality);
    if (usage.cacheWrite > 0) this.cacheWrite.add(usage.cacheWrite, ...series.labels, modality);
    if (usage.reasoning > 0) this.reasoning.add(usage.reasoning, ...series.labels, modality);
    // Attempts that used none would say that others are small.
    if (usage.input + usage.output === 0) return;
    series.inputSizes.observe(usage.input);
    series.outputSizes.observe(usage.output);
    this.legacyTokens?.observe(usage.input, ...series.labels, 'input');
    this.legacyTokens?.observe(usage.output, ...series.labels, 'output');
  }

  private counter(metric: Metric): HotCounter<string> {
    return new HotCounter(this.registry, exposed(metric));
  }

  private histogram(metric: Metric): HotHistogram<string> {
    return new HotHistogram(this.registry, exposed(metric));
  }
}
