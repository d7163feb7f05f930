// What does a trace say of a request? One span for it and one for each attempt, by the conventions of OpenTelemetry for HTTP and for
// generative AI: names, counts and times, and nothing that was asked or answered.

import type { Attributes, Span } from '../../telemetry/items.ts';
import { newSpanId, type TraceContext, traceHeaders } from '../../telemetry/trace-context.ts';
import type { Clock } from '../clock.ts';
import type { LedgerRecord } from '../contract/ledger-record.ts';
import { operationOf, providerNameOf } from '../meter/gen-ai-metrics.ts';
import type { TargetView } from '../table/view.ts';

export interface RequestStart {
  readonly requestId: string;
  /** Path of the route, such as `/v1/chat/completions`. */
  readonly route: string;
  /** Clock time. */
  readonly arrivedAt: number;
  readonly tableGeneration: number;
  /** The tenant. */
  readonly namespace: string;
}

/** What is known of a request that led somewhere. */
export interface ServedFacts {
  /** The id of the route. */
  readonly model: string;
  /** As in metrics: 499 where the client went away. */
  readonly status: number;
  readonly firstContentMs: number | undefined;
  readonly attempts: number;
  readonly isStream: boolean;
}

export interface AttemptFacts {
  readonly target: TargetView;
  readonly startedAtMs: number;
  readonly durationMs: number;
  readonly servedModel: string | undefined;
}

/** An attempt at an upstream, as far as its trace goes. */
export interface AttemptTrace {
  /** For the upstream: names and values in turn. */
  readonly headers: readonly string[];
  /** Undefined where it is not traced here. */
  readonly spanId: string | undefined;
}

interface TraceParts {
  readonly clock: Clock;
  readonly parent: TraceContext | undefined;
  readonly traceId: string;
  readonly spanId: string;
  add(span: Span): void;
}

/** An upstream may call its model as it likes. */
const servedModelLengthMax = 128;

export class RequestTrace {
  private readonly parts: TraceParts;
  private readonly start: RequestStart;
  private served: ServedFacts | undefined;

  constructor(parts: TraceParts, start: RequestStart) {
    this.parts = parts;
    this.start = start;
  }

  get traceId(): string | undefined {
    return this.parts.traceId;
  }

  openAttempt(): AttemptTrace {
    const { traceId, parent } = this.parts;
    const spanId = newSpanId();
    const traceState = parent?.traceState === undefined ? {} : { traceState: parent.traceState };
    return { spanId, headers: traceHeaders({ traceId, spanId, isSampled: true, ...traceState }) };
  }

  endAttempt(spanId: string, record: LedgerRecord, facts: AttemptFacts): void {
    const { add, traceId, spanId: parentSpanId, parent } = this.parts;
    add({
      traceId,
      spanId,
      parentSpanId,
      isParentRemote: false,
      traceState: parent?.traceState,
      name: `${operationOf(record.upstreamDialect)} ${record.upstreamModel}`,
      kind: 'client',
      startMs: facts.startedAtMs,
      durationMs: facts.durationMs,
      isError: record.outcome === 'failed' || record.outcome === 'broken-off',
      attributes: attemptAttributes(record, facts),
    });
  }

  onServed(facts: ServedFacts): void {
    this.served = facts;
  }

  /** @param status What was told, where no more is known. */
  end(status: number): void {
    const { clock, add, traceId, spanId, parent } = this.parts;
    const { requestId, route, arrivedAt, tableGeneration, namespace } = this.start;
    const { served } = this;
    const durationMs = clock.now() - arrivedAt;
    const worst = served?.status ?? status;
    add({
      traceId,
      spanId,
      parentSpanId: parent?.spanId,
      isParentRemote: parent !== undefined,
      traceState: parent?.traceState,
      name: `POST ${route}`,
      kind: 'server',
      startMs: clock.wallMs() - durationMs,
      durationMs,
      // What the caller did wrong is no error of the server (conventions for HTTP spans).
      isError: worst >= 500,
      attributes: present({
        'http.request.method': 'POST',
        'http.route': route,
        'url.path': route,
        'url.scheme': 'http',
        'http.response.status_code': status,
        'error.type': worst >= 400 ? String(worst) : undefined,
        'gen_ai.operation.name': operationOf(route.replace('/v1', '')),
        'gen_ai.provider.name': 'penstock',
        'gen_ai.request.model': served?.model,
        'gen_ai.request.stream': served?.isStream,
        'gen_ai.response.time_to_first_chunk': seconds(served?.firstContentMs),
        'penstock.request.id': requestId,
        'penstock.namespace': namespace,
        'penstock.attempts': served?.attempts,
        'penstock.table.generation': tableGeneration,
      }),
    });
  }
}

function attemptAttributes(record: LedgerRecord, { target, servedModel }: AttemptFacts): Attributes {
  const { usage, costPicodollars } = record;
  const { entry } = target.provider;
  const address = new URL(entry.baseUrl);
  return present({
    'gen_ai.operation.name': operationOf(record.upstreamDialect),
    'gen_ai.provider.name': providerNameOf(entry.type),
    'gen_ai.request.model': record.upstreamModel,
    'gen_ai.request.stream': record.isStream,
    'gen_ai.response.model': servedModel?.slice(0, servedModelLengthMax),
    'gen_ai.response.time_to_first_chunk': seconds(record.firstContentMs),
    'gen_ai.usage.input_tokens': usage.input,
    'gen_ai.usage.output_tokens': usage.output,
    'gen_ai.usage.cache_read.input_tokens': usage.cachedInput || undefined,
    'gen_ai.usage.cache_write.input_tokens': usage.cacheWrite || undefined,
    'gen_ai.usage.reasoning.output_tokens': usage.reasoning || undefined,
    'server.address': address.hostname,
    'server.port': Number(address.port) || (address.protocol === 'http:' ? 80 : 443),
    'http.response.status_code': record.status,
    'error.type': record.failure ?? (record.outcome === 'cancelled' ? 'cancelled' : undefined),
    'penstock.attempt': record.attempt,
    'penstock.outcome': record.outcome,
    'penstock.provider': record.provider,
    'penstock.target': record.target,
    'penstock.cost_usd': costPicodollars === null ? undefined : costPicodollars / 1e12,
  });
}

function seconds(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : ms / 1000;
}

function present(attributes: Readonly<Record<string, string | number | boolean | undefined>>): Attributes {
  return Object.fromEntries(
    Object.entries(attributes).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}
