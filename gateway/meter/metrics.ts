// What does a gateway export? Every metric of the process, in one place.

import { collectDefaultMetrics, Gauge } from 'prom-client';
import { type ConnectionRefusal, connectionRefusals } from '../admission/connections.ts';
import { type ShedReason, shedReasons } from '../admission/judge-load.ts';
import type { LedgerRecord } from '../contract/ledger-record.ts';
import { type LoadFailure, loadFailures } from '../table/load-error.ts';
import type { TableOrigin } from '../table/sources/source.ts';
import type { TableView } from '../table/view.ts';
import {
  type CounterSeries,
  exportCount,
  getOrMake,
  type HistogramSeries,
  HotCounter,
  HotHistogram,
  type IsKept,
  Registry,
} from './hot-metrics.ts';
import type { JournalFigures } from './journal-report.ts';

/** Seconds; the buckets of the OpenTelemetry GenAI conventions for durations. */
const durationBounds = [
  0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92, 163.84,
];

const tableSources: readonly TableOrigin[] = ['api', 'copy', 'file'];

/** What is asked of the running process when metrics are read. */
export interface MetricReadings {
  tableGeneration(): number;
  requestsInFlight(): number;
  /** Undefined before the first table. */
  tableSource(): TableOrigin | undefined;
  /** Since an operator last showed that it lives; undefined where nobody is asked. */
  tableAgeSeconds(): number | undefined;
  /** Those that are not closed. */
  breakers(): readonly BreakerFacts[];
  /** Those that rest. */
  restingKeys(): readonly RestingKeyFacts[];
  /** Undefined where no journal is kept. */
  journal?(): JournalFigures | undefined;
  /** Of the door; nothing of it where left out. */
  readonly load?: LoadReadings;
}

export interface BreakerFacts {
  readonly provider: string;
  /** Absent: of the endpoint as a whole. */
  readonly upstreamModel?: string;
  readonly phase: string;
}

export interface RestingKeyFacts {
  readonly provider: string;
  /** Absent where the provider takes none. */
  readonly key?: string;
  readonly reason: string;
  /** For how long it rests still. */
  readonly forMs: number;
}

export interface LoadReadings {
  /** 0 while nothing is under way. */
  loopDelaySeconds(): number;
  bodyBytes(): number;
  /** Of answers that their clients do not have yet. */
  answerBytes(): number;
  /** Heap in use, as a part of its limit. */
  heapShare(): number;
  inFlightMax(): number;
}

export interface RequestFacts {
  /** The client dialect's path, e.g. `/chat/completions`. */
  readonly endpoint: string;
  /** A configured model id, or `other`: labels never grow with what callers send. */
  readonly model: string;
  /** HTTP status told to the client; 499 where it went away first. */
  readonly status: number;
  readonly durationMs: number;
  readonly firstContentMs: number | undefined;
}

export class Metrics {
  readonly registry = new Registry();
  private readonly requests = new HotCounter(this.registry, {
    name: 'penstock_requests_total',
    help: 'Client requests answered, by endpoint, model and HTTP status (499: the client went away).',
    labels: ['endpoint', 'model', 'status'],
  });
  private readonly durations = new HotHistogram(this.registry, {
    name: 'penstock_request_duration_seconds',
    help: 'From the arrival of a request to the end of its answer.',
    labels: ['endpoint', 'model'],
    bounds: durationBounds,
  });
  private readonly firstContents = new HotHistogram(this.registry, {
    name: 'penstock_time_to_first_token_seconds',
    help: 'From the arrival of a streamed request to the first content handed to the client.',
    labels: ['endpoint', 'model'],
    bounds: durationBounds,
  });
  private readonly attempts = new HotCounter(this.registry, {
    name: 'penstock_attempts_total',
    help: 'Upstream attempts, by provider, upstream model, outcome and failure.',
    labels: ['provider', 'upstream_model', 'outcome', 'failure'],
  });
  private readonly firstEvents = new HotHistogram(this.registry, {
    name: 'penstock_first_event_seconds',
    help: 'From the start of an upstream attempt to the first content of its stream.',
    labels: ['provider', 'upstream_model'],
    bounds: durationBounds,
  });
  private readonly streamEnds = new HotCounter(this.registry, {
    name: 'penstock_stream_end_total',
    help: 'Upstream streams that brought content, by how they ended.',
    labels: ['provider', 'upstream_model', 'end'],
  });
  private readonly staleReuses = new HotCounter(this.registry, {
    name: 'penstock_stale_reuse_total',
    help: 'Attempts whose connection had been used before and was closed before a byte of the answer.',
    labels: ['provider'],
  });
  private readonly noTargets = new HotCounter(this.registry, {
    name: 'penstock_no_target_total',
    help: 'Requests for which no upstream was in service, so that none was tried.',
    labels: ['model'],
  });
  private readonly tokens = new HotCounter(this.registry, {
    name: 'penstock_tokens_total',
    help: 'Tokens used, by model, provider and kind (input, cached_input, cache_write, output, reasoning, audio_input, audio_output).',
    labels: ['model', 'provider', 'kind'],
  });
  private readonly malformedFrames = new HotCounter(this.registry, {
    name: 'penstock_malformed_frames_total',
    help: 'Events of streamed answers that could not be read; the second one behind content ends the stream.',
    labels: ['provider', 'upstream_model'],
  });
  private readonly failuresHeldBack = new HotCounter(this.registry, {
    name: 'penstock_failures_held_back_total',
    help: 'Attempts that failed behind their first content, of which the client saw nothing: the answer was held.',
    labels: ['provider', 'upstream_model'],
  });
  private readonly answersTooLong = new HotCounter(this.registry, {
    name: 'penstock_answers_too_long_to_hold_total',
    help: 'Answers above 1 MiB that were to be held, and went out as ordinary streams from there on.',
    labels: [],
  });
  private readonly failedAuthentications = new HotCounter(this.registry, {
    name: 'penstock_authentication_failures_total',
    help: 'Requests refused because their key was missing or not valid.',
    labels: [],
  });
  private readonly shed = new HotCounter(this.registry, {
    name: 'penstock_shed_total',
    help: 'Requests refused because the gateway had too much to do, by reason.',
    labels: ['reason'],
  });
  private readonly connectionsRefused = new HotCounter(this.registry, {
    name: 'penstock_connections_refused_total',
    help: 'Connections closed at once, by reason: too many in total, too many from one address, or the heap is full.',
    labels: ['reason'],
  });
  private readonly failuresLimited = new HotCounter(this.registry, {
    name: 'penstock_authentication_failures_limited_total',
    help: 'Requests with a bad key that were told to wait: too many such came from their address.',
    labels: [],
  });
  private readonly tablesRefused = new HotCounter(this.registry, {
    name: 'penstock_tables_refused_total',
    help: 'Routing tables that could not be taken, by reason; the last good one stayed in use.',
    labels: ['reason'],
  });
  private readonly tableLoads = new HotHistogram(this.registry, {
    name: 'penstock_table_load_seconds',
    help: 'From the news of a routing table to its use.',
    labels: [],
    bounds: durationBounds,
  });
  private readonly ledgerDropped = new HotCounter(this.registry, {
    name: 'penstock_ledger_records_dropped_total',
    help: 'Ledger records lost because the journal could not be written for too long.',
    labels: [],
  });

  private readonly requestsBySeries = new Map<string, RequestSeries>();
  private readonly attemptsBySeries = new Map<string, AttemptSeries>();
  private readonly streamsBySeries = new Map<string, StreamSeries>();
  private readyGateways = 0;

  constructor(readings: MetricReadings) {
    const { registry } = this;
    const { failedAuthentications, failuresLimited, ledgerDropped, answersTooLong } = this;
    for (const counter of [failedAuthentications, failuresLimited, ledgerDropped, answersTooLong])
      counter.add(0);
    for (const reason of shedReasons) this.shed.add(0, reason);
    for (const reason of connectionRefusals) this.connectionsRefused.add(0, reason);
    for (const reason of loadFailures) this.tablesRefused.add(0, reason);
    new Gauge({
      name: 'penstock_table_generation',
      help: 'Generation of the routing table in use; 0 before the first.',
      registers: [registry],
      collect() {
        this.set(readings.tableGeneration());
      },
    });
    new Gauge({
      name: 'penstock_requests_in_flight',
      help: 'Requests that have been accepted and not yet answered to the end.',
      registers: [registry],
      collect() {
        this.set(readings.requestsInFlight());
      },
    });
    new Gauge({
      name: 'penstock_table_source',
      help: 'Where the routing table in use came from (api, copy, file): 1 for that one.',
      labelNames: ['source'],
      registers: [registry],
      collect() {
        for (const source of tableSources) this.set({ source }, readings.tableSource() === source ? 1 : 0);
      },
    });
    new Gauge({
      name: 'penstock_config_age_seconds',
      help: 'Since an operator last showed, through the API server, that it lives.',
      registers: [registry],
      collect() {
        const age = readings.tableAgeSeconds();
        if (age === undefined) this.remove();
        else this.set(age);
      },
    });
    new Gauge({
      name: 'penstock_breaker_state',
      help: 'Is 1 for the state of each breaker that is not closed (open, half-open, slow-start).',
      labelNames: ['provider', 'upstream_model', 'state'],
      registers: [registry],
      collect() {
        this.reset();
        for (const { provider, upstreamModel = '', phase } of readings.breakers()) {
          this.set({ provider, upstream_model: upstreamModel, state: phase }, 1);
        }
      },
    });
    new Gauge({
      name: 'penstock_key_cooldown_seconds',
      help: 'For how long a provider key rests still, by reason (rate-limit, out-of-money, rejected).',
      labelNames: ['provider', 'key', 'reason'],
      registers: [registry],
      collect() {
        this.reset();
        for (const { provider, key = '', reason, forMs } of readings.restingKeys()) {
          this.set({ provider, key, reason }, forMs / 1000);
        }
      },
    });
    const readyGateways = (): number => this.readyGateways;
    new Gauge({
      name: 'penstock_ready_gateways',
      help: 'Gateway pods that are ready, as the operator last told; 0 where it has told nothing.',
      registers: [registry],
      collect() {
        this.set(readyGateways());
      },
    });
    if (readings.load) exportLoad(registry, readings.load);
    exportJournal(registry, () => readings.journal?.());
    // A finer loop monitor would wake an idle process all the time.
    collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 200 });
  }

  /** What is counted of models and targets that are gone is told no longer: series would never become fewer. */
  adopt({ routes }: Pick<TableView, 'routes'>): void {
    const models = new Set(routes.map(({ entry }) => entry.model));
    const targets = routes.flatMap((route) => route.targets);
    const providers = new Set(targets.map(({ provider }) => provider.entry.id));
    const upstreams = new Set(
      targets.map(({ provider, entry }) => `${provider.entry.id} ${entry.upstreamModel}`),
    );
    const isKept: IsKept = (labelOf) => {
      const [model, provider, upstream] = [labelOf('model'), labelOf('provider'), labelOf('upstream_model')];
      return (
        (model === undefined || models.has(model)) &&
        (provider === undefined || providers.has(provider)) &&
        (upstream === undefined || upstreams.has(`${provider} ${upstream}`))
      );
    };
    for (const metric of [
      ...[this.requests, this.durations, this.firstContents, this.attempts, this.firstEvents],
      ...[this.streamEnds, this.staleReuses, this.noTargets, this.tokens],
      ...[this.malformedFrames, this.failuresHeldBack],
    ]) {
      metric.retain(isKept);
    }
    // They hold series that may be gone.
    for (const bySeries of [this.requestsBySeries, this.attemptsBySeries, this.streamsBySeries]) {
      bySeries.clear();
    }
  }

  onRequest({ endpoint, model, status, durationMs, firstContentMs }: RequestFacts): void {
    const series = this.requestSeries(endpoint, model);
    getOrMake(series.byStatus, status, () => this.requests.series(endpoint, model, String(status))).count++;
    series.durations.observe(durationMs / 1000);
    if (firstContentMs !== undefined) this.firstContents.observe(firstContentMs / 1000, endpoint, model);
  }

  /** `model` is the route's own id, not what the caller wrote. */
  onAttempt(record: LedgerRecord, model: string): void {
    const { provider, usage, upstreamModel } = record;
    const isAnswered = record.outcome === 'answered';
    if (record.isStream && record.firstContentMs !== undefined) {
      const stream = this.streamSeries(provider, upstreamModel);
      stream.firstEvents.observe(record.firstContentMs / 1000);
      if (isAnswered) stream.complete.count++;
      else this.streamEnds.add(1, provider, upstreamModel, streamEndOf(record));
    }
    if (!isAnswered) this.attempts.add(1, provider, upstreamModel, record.outcome, record.failure ?? '');
    if (record.outcome === 'failed' && record.firstContentMs !== undefined) {
      this.failuresHeldBack.add(1, provider, upstreamModel);
    }
    if (!isAnswered && usage.input + usage.output === 0) return;
    const { answered, input, output } = this.attemptSeries(provider, upstreamModel, model);
    if (isAnswered) answered.count++;
    input.count += usage.input;
    output.count += usage.output;
    if (usage.cachedInput > 0) this.tokens.add(usage.cachedInput, model, provider, 'cached_input');
    if (usage.cacheWrite > 0) this.tokens.add(usage.cacheWrite, model, provider, 'cache_write');
    if (usage.reasoning > 0) this.tokens.add(usage.reasoning, model, provider, 'reasoning');
    if (usage.audioInput) this.tokens.add(usage.audioInput, model, provider, 'audio_input');
    if (usage.audioOutput) this.tokens.add(usage.audioOutput, model, provider, 'audio_output');
  }

  onStaleReuse(provider: string): void {
    this.staleReuses.add(1, provider);
  }

  /** `model` is the route's own id. */
  onNoTarget(model: string): void {
    this.noTargets.add(1, model);
  }

  onMalformedFrames({ provider, upstreamModel }: LedgerRecord, frames: number): void {
    this.malformedFrames.add(frames, provider, upstreamModel);
  }

  onTooLongToHold(): void {
    this.answersTooLong.add(1);
  }

  onAuthenticationFailure(): void {
    this.failedAuthentications.add(1);
  }

  onAuthenticationFailureLimited(): void {
    this.failuresLimited.add(1);
  }

  onShed(reason: ShedReason): void {
    this.shed.add(1, reason);
  }

  onConnectionRefused(reason: ConnectionRefusal): void {
    this.connectionsRefused.add(1, reason);
  }

  onTableRefused(reason: LoadFailure): void {
    this.tablesRefused.add(1, reason);
  }

  onTableLoaded(loadMs: number): void {
    this.tableLoads.observe(loadMs / 1000);
  }

  onReadyGateways(count: number): void {
    this.readyGateways = count;
  }

  onLedgerDropped(records: number): void {
    this.ledgerDropped.add(records);
  }

  /** What every request needs, found by one lookup. */
  private requestSeries(endpoint: string, model: string): RequestSeries {
    return getOrMake(this.requestsBySeries, `${endpoint} ${model}`, () => ({
      byStatus: new Map(),
      durations: this.durations.series(endpoint, model),
    }));
  }

  private streamSeries(provider: string, upstreamModel: string): StreamSeries {
    return getOrMake(this.streamsBySeries, `${provider} ${upstreamModel}`, () => ({
      firstEvents: this.firstEvents.series(provider, upstreamModel),
      complete: this.streamEnds.series(provider, upstreamModel, 'complete'),
    }));
  }

  private attemptSeries(provider: string, upstreamModel: string, model: string): AttemptSeries {
    return getOrMake(this.attemptsBySeries, `${provider} ${upstreamModel} ${model}`, () => ({
      answered: this.attempts.series(provider, upstreamModel, 'answered', ''),
      input: this.tokens.series(model, provider, 'input'),
      output: this.tokens.series(model, provider, 'output'),
    }));
  }
}

function exportLoad(registry: Registry, load: LoadReadings): void {
  const gauges: Readonly<Record<string, { readonly help: string; read(): number }>> = {
    penstock_event_loop_delay_seconds: {
      help: 'How late the event loop comes to what is due: 99th percentile of the last two seconds; 0 while nothing is under way.',
      read: () => load.loopDelaySeconds(),
    },
    penstock_request_body_bytes: {
      help: 'Bytes of request bodies that are kept until their answers have ended.',
      read: () => load.bodyBytes(),
    },
    penstock_held_bytes: {
      help: 'Bytes of answers that are kept until their clients have them: plain ones, and what is held of streams.',
      read: () => load.answerBytes(),
    },
    penstock_heap_share: {
      help: 'Heap in use by objects that last, as a part of its limit.',
      read: () => load.heapShare(),
    },
    penstock_requests_in_flight_max: {
      help: 'Requests that may be in flight now; it falls while there is too much to do.',
      read: () => load.inFlightMax(),
    },
  };
  for (const [name, { help, read }] of Object.entries(gauges)) {
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.set(read());
      },
    });
  }
}

function exportJournal(registry: Registry, figures: () => JournalFigures | undefined): void {
  new Gauge({
    name: 'penstock_journal_bytes',
    help: 'Ledger records in the journal that nobody has taken over yet; full files count as full.',
    registers: [registry],
    collect() {
      this.set(figures()?.bytes ?? 0);
    },
  });
  const counts: Readonly<Record<string, readonly [help: string, figure: keyof JournalFigures]>> = {
    penstock_journal_write_errors_total: [
      'Writes to the journal that failed; they are tried again.',
      'failedWrites',
    ],
    penstock_journal_damaged_lines_total: [
      'Lines of the journal set aside: their checksums do not fit.',
      'damagedLines',
    ],
    penstock_ledger_records_replayed_total: [
      'Records of attempts under way when an earlier process ended.',
      'replayedRecords',
    ],
    penstock_ledger_records_unclaimed_total: [
      'Records written to the log: nobody had taken them over.',
      'unclaimedRecords',
    ],
  };
  for (const [name, [help, figure]] of Object.entries(counts))
    exportCount(registry, { name, help, read: () => figures()?.[figure] ?? 0 });
}

interface RequestSeries {
  readonly byStatus: Map<number, CounterSeries>;
  readonly durations: HistogramSeries;
}

interface StreamSeries {
  readonly firstEvents: HistogramSeries;
  readonly complete: CounterSeries;
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
    case 'malformed':
      return failure;
    default:
      return 'other';
  }
}

interface AttemptSeries {
  readonly answered: CounterSeries;
  readonly input: CounterSeries;
  readonly output: CounterSeries;
}
