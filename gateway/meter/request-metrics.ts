// What does a gateway count of its requests? metric-table.ts describes each metric.

import type { LedgerRecord } from '../../core/contract/ledger-record.ts';
import type { UnavailableRoute } from '../../core/contract/routing-table.ts';
import type { TableView } from '../table/view.ts';
import { openCounted } from './counted.ts';
import { type AttemptRoute, type GenAiAttempts, GenAiMetrics, type GenAiRequests } from './gen-ai-metrics.ts';
import { type CounterSeries, type HistogramSeries, type IsKept, PairMap, Registry } from './hot-metrics.ts';
import type { RatedAttempt } from './ledger.ts';
import { countedMetrics } from './metric-table.ts';

interface RequestFacts {
  /** The client dialect's path, e.g. `/chat/completions`. */
  readonly endpoint: string;
  /** A configured model id. */
  readonly model: string;
  /** HTTP status sent to the client; 499 if the client left before that. */
  readonly status: number;
  readonly durationMs: number;
  readonly firstContentMs: number | undefined;
}

export interface MetricOptions {
  /** Tokens also in the form that the conventions had before. */
  readonly hasLegacyTokens?: boolean;
}

/** In place of a model: that of a request which was refused before it was found. Labels never grow with what callers send. */
const unfoundModel = 'other';

export class RequestMetrics {
  readonly registry = new Registry();
  private readonly counted = openCounted(this.registry, countedMetrics);
  /** By the rows of the table, for whatever needs no method here. */
  readonly counters = this.counted.counters;
  protected readonly histograms = this.counted.histograms;
  private readonly genAi: GenAiMetrics;

  /** By endpoint and model. */
  private readonly requestCells = new PairMap<RequestCell>();
  /** By provider and upstream model. */
  private readonly upstreamCells = new PairMap<UpstreamCell>();

  constructor({ hasLegacyTokens = false }: MetricOptions = {}) {
    this.genAi = new GenAiMetrics(this.registry, hasLegacyTokens);
  }

  /** Removes the series of models and targets that no longer exist: otherwise the number of series would only grow. */
  adopt({ routes, unavailable }: Pick<TableView, 'routes' | 'unavailable'>): void {
    const models = new Set([...routes, ...unavailable.routes].map(({ entry }) => entry.model));
    const targets = routes.flatMap((route) => route.targets);
    const providers = new Set(targets.map(({ provider }) => provider.entry.id));
    const upstreams = new Set(
      targets.map(({ provider, entry }) => `${provider.entry.id} ${entry.upstreamModel}`),
    );
    const isKept: IsKept = (labelOf) => {
      const [model, provider, upstream] = [labelOf('model'), labelOf('provider'), labelOf('upstream_model')];
      return (
        (model === undefined || model === unfoundModel || models.has(model)) &&
        (provider === undefined || providers.has(provider)) &&
        (upstream === undefined || upstreams.has(`${provider} ${upstream}`))
      );
    };
    this.counted.retain(isKept);
    this.genAi.retain(models, upstreams);
    // The first of them may be the last for long, and alerts and sums over a time see only what grows, not what begins.
    for (const { entry, targets: own } of routes)
      for (const { provider, entry: target } of own)
        if (provider.entry.isPlatform) this.begin(entry.model, provider.entry.id, target.price !== null);
    for (const { entry } of unavailable.routes)
      this.counters.unavailableRequests.add(0, entry.model, entry.reason);
    // Cells hold series that may be gone.
    this.requestCells.clear();
    this.upstreamCells.clear();
  }

  onRequest(facts: RequestFacts): void {
    const { endpoint, model, status, durationMs, firstContentMs } = facts;
    const cell = this.requestCells.get(endpoint, model) ?? this.openRequestCell(endpoint, model);
    let counter = cell.byStatus.get(status);
    if (counter === undefined) {
      counter = this.counters.requests.series(endpoint, model, String(status));
      cell.byStatus.set(status, counter);
    }
    counter.count++;
    cell.durations.observe(durationMs / 1000);
    if (firstContentMs !== undefined) cell.firstContents.observe(firstContentMs / 1000);
    this.genAi.onRequest(cell.genAi, facts);
  }

  /** The request led to no model, so its duration says nothing about served requests. */
  onRefused(endpoint: string, status: number): void {
    this.counters.requests.add(1, endpoint, unfoundModel, String(status));
  }

  /** Its route is out of service. How long the answer took says nothing about it when it is served. */
  onUnavailable(
    endpoint: string,
    status: number,
    { model, reason }: Pick<UnavailableRoute, 'model' | 'reason'>,
  ): void {
    this.counters.requests.add(1, endpoint, model, String(status));
    this.counters.unavailableRequests.add(1, model, reason);
  }

  onAttempt(record: RatedAttempt, route: AttemptRoute): void {
    const { provider, usage, upstreamModel } = record;
    const { model } = route;
    const isAnswered = record.outcome === 'answered';
    const upstream =
      this.upstreamCells.get(provider, upstreamModel) ?? this.openUpstreamCell(provider, upstreamModel);
    if (record.isStream && record.firstContentMs !== undefined) {
      const stream = this.streamSeries(upstream, record);
      stream.firstEvents.observe(record.firstContentMs / 1000);
      if (isAnswered) stream.complete.count++;
      else this.counters.streamEnd.add(1, provider, upstreamModel, streamEndOf(record));
    }
    if (!isAnswered)
      this.counters.attempts.add(1, provider, upstreamModel, record.outcome, record.failure ?? '');
    if (record.outcome === 'failed' && record.firstContentMs !== undefined) {
      this.counters.failuresHeldBack.add(1, provider, upstreamModel);
    }
    const cell = upstream.byModel.get(model) ?? openModelCell(upstream, model);
    this.genAi.onAttempt(this.genAiOf(cell, record, route), record);
    if (!isAnswered && usage.input + usage.output === 0) return;
    const { answered, input, output, byPayer } = this.usageSeries(cell, record, model);
    if (isAnswered) answered.count++;
    input.count += usage.input;
    output.count += usage.output;
    if (usage.cachedInput > 0) this.counters.tokens.add(usage.cachedInput, model, provider, 'cached_input');
    if (usage.cacheWrite > 0) this.counters.tokens.add(usage.cacheWrite, model, provider, 'cache_write');
    if (usage.reasoning > 0) this.counters.tokens.add(usage.reasoning, model, provider, 'reasoning');
    if (usage.audioInput) this.counters.tokens.add(usage.audioInput, model, provider, 'audio_input');
    if (usage.audioOutput) this.counters.tokens.add(usage.audioOutput, model, provider, 'audio_output');
    const { payer, costPicodollars } = record;
    if (payer === 'own-key') return;
    if (costPicodollars === null) {
      this.counters.unpricedAttempts.add(1, model, provider);
      return;
    }
    let cost = byPayer.get(payer);
    if (cost === undefined) {
      cost = this.counters.cost.series(model, provider, payer);
      byPayer.set(payer, cost);
    }
    cost.count += costPicodollars;
  }

  onStaleReuse(provider: string): void {
    this.counters.staleReuse.add(1, provider);
  }

  /** `model` is the route's own id, `provider` the failed one, `failure` the code of why. */
  onFailover(model: string, provider: string, failure: string): void {
    this.counters.failovers.add(1, model, provider, failure);
  }

  /** `model` is the route's own id. */
  onNoTarget(model: string): void {
    this.counters.noTarget.add(1, model);
  }

  onMalformedFrames({ provider, upstreamModel }: RatedAttempt, frames: number): void {
    this.counters.malformedFrames.add(frames, provider, upstreamModel);
  }

  onTooLongToHold(): void {
    this.counters.answersTooLongToHold.add(1);
  }

  onAuthenticationFailure(): void {
    this.counters.authenticationFailures.add(1);
  }

  /** What calls over a provider of the platform come to begins with the table. */
  private begin(model: string, provider: string, isPriced: boolean): void {
    if (!isPriced) this.counters.unpricedAttempts.add(0, model, provider);
    else for (const payer of ['tenant', 'platform']) this.counters.cost.add(0, model, provider, payer);
  }

  private openRequestCell(endpoint: string, model: string): RequestCell {
    const cell = {
      byStatus: new Map(),
      durations: this.histograms.requestDuration.series(endpoint, model),
      firstContents: this.histograms.timeToFirstToken.series(endpoint, model),
      genAi: this.genAi.requests(endpoint, model),
    };
    this.requestCells.set(endpoint, model, cell);
    return cell;
  }

  private openUpstreamCell(provider: string, upstreamModel: string): UpstreamCell {
    const cell = { stream: undefined, byModel: new Map() };
    this.upstreamCells.set(provider, upstreamModel, cell);
    return cell;
  }

  private streamSeries(cell: UpstreamCell, { provider, upstreamModel }: RatedAttempt): StreamSeries {
    cell.stream ??= {
      firstEvents: this.histograms.firstEvent.series(provider, upstreamModel),
      complete: this.counters.streamEnd.series(provider, upstreamModel, 'complete'),
    };
    return cell.stream;
  }

  private genAiOf(cell: ModelCell, record: RatedAttempt, route: AttemptRoute): GenAiAttempts {
    for (const series of cell.genAi) {
      const { upstreamDialect, clientDialect } = series;
      if (upstreamDialect === record.upstreamDialect && clientDialect === record.clientDialect) return series;
    }
    const series = this.genAi.attempts(record, route);
    cell.genAi.push(series);
    return series;
  }

  private usageSeries(
    cell: ModelCell,
    { provider, upstreamModel }: RatedAttempt,
    model: string,
  ): UsageSeries {
    cell.usage ??= {
      answered: this.counters.attempts.series(provider, upstreamModel, 'answered', ''),
      input: this.counters.tokens.series(model, provider, 'input'),
      output: this.counters.tokens.series(model, provider, 'output'),
      byPayer: new Map(),
    };
    return cell.usage;
  }
}

/** Series of an endpoint and a model, found once. A series shows as soon as it is made: each is made where it is first needed. */
interface RequestCell {
  readonly byStatus: Map<number, CounterSeries>;
  readonly durations: HistogramSeries;
  readonly firstContents: HistogramSeries;
  readonly genAi: GenAiRequests;
}

/** Series of a provider and an upstream model. */
interface UpstreamCell {
  stream: StreamSeries | undefined;
  /** By model of the route. */
  readonly byModel: Map<string, ModelCell>;
}

interface ModelCell {
  usage: UsageSeries | undefined;
  /** For each pair of dialects: they are few. */
  readonly genAi: GenAiAttempts[];
}

interface StreamSeries {
  readonly firstEvents: HistogramSeries;
  readonly complete: CounterSeries;
}

interface UsageSeries {
  readonly answered: CounterSeries;
  readonly input: CounterSeries;
  readonly output: CounterSeries;
  /** What was paid. */
  readonly byPayer: Map<string, CounterSeries>;
}

function openModelCell(upstream: UpstreamCell, model: string): ModelCell {
  const cell = { usage: undefined, genAi: [] };
  upstream.byModel.set(model, cell);
  return cell;
}

/** How a stream that brought content and was not answered to its end was lost: one of a few words. */
function streamEndOf({ outcome, failure }: Pick<LedgerRecord, 'outcome' | 'failure'>): string {
  if (outcome === 'cancelled') return 'cancelled';
  switch (failure) {
    case 'timeout_liveness':
    case 'timeout_progress':
      return 'stall';
    case 'timeout_total':
      return 'timeout';
    case 'error_event':
      return 'error';
    case 'truncated':
      return failure;
    case 'malformed':
    case 'unusable':
      return 'malformed';
    default:
      return 'other';
  }
}
