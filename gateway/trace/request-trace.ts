// What does a trace say of a request? One span for it and one for each attempt, by the conventions of OpenTelemetry for HTTP and for
// generative AI: names, counts and times, and nothing that was asked or answered.

import {
  type Attributes,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import type { Clock } from '../../core/clock.ts';
import type { LedgerRecord } from '../../core/contract/ledger-record.ts';
import { traceHeaders } from '../../core/telemetry/trace-context.ts';
import { operationOf, providerNameOf } from '../meter/gen-ai-metrics.ts';
import type { Candidate } from '../route/plan.ts';
import type { TargetView } from '../table/view.ts';

export interface RequestStart {
  readonly requestId: string;
  /** Path of the route, such as `/v1/chat/completions`. */
  readonly route: string;
  /** Its `gen_ai.operation.name`; undefined: that of the dialect. */
  readonly operation: string | undefined;
  /** Clock time. */
  readonly arrivedAt: number;
  readonly tableGeneration: number;
  /** The tenant. */
  readonly namespace: string;
}

/** The facts of a request that has a route. */
interface ServedFacts {
  /** The id of the route. */
  readonly model: string;
  /** As in metrics: 499 where the client went away. */
  readonly status: number;
  readonly firstContentMs: number | undefined;
  readonly attempts: number;
  readonly isStream: boolean;
}

interface AttemptFacts {
  readonly target: TargetView;
  readonly startedAtMs: number;
  readonly durationMs: number;
  readonly servedModel: string | undefined;
}

/** The facts of a token-count request to an upstream. */
interface CountFacts {
  readonly target: TargetView;
  /** Undefined if no answer came. */
  readonly status: number | undefined;
}

/** An attempt at an upstream, as far as its trace goes. */
export interface AttemptTrace {
  /** For the upstream: names and values in turn. */
  readonly headers: readonly string[];
  /** Undefined if it is not traced here. */
  readonly span: Span | undefined;
}

interface TraceParts {
  readonly clock: Clock;
  readonly tracer: Tracer;
  readonly span: Span;
  /** Unix milliseconds that the span starts at. */
  readonly startedAtMs: number;
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

  openAttempt({ target, dialect }: Candidate): AttemptTrace {
    const { clock, tracer } = this.parts;
    const name = `${this.start.operation ?? operationOf(dialect)} ${target.entry.upstreamModel}`;
    const options = { kind: SpanKind.CLIENT, startTime: clock.wallMs() };
    const span = tracer.startSpan(name, options, trace.setSpan(ROOT_CONTEXT, this.parts.span));
    return { span, headers: traceHeaders(trace.setSpan(ROOT_CONTEXT, span)) };
  }

  endAttempt(span: Span, record: LedgerRecord, facts: AttemptFacts): void {
    span.setAttributes(attemptAttributes(record, facts));
    if (record.outcome === 'failed' || record.outcome === 'broken-off') span.setStatus(failed);
    span.end(facts.startedAtMs + facts.durationMs);
  }

  /** Of a question for a number of tokens there is no record. */
  endCount(span: Span, { target, status }: CountFacts): void {
    const isError = status !== 200;
    span.setAttributes({
      ...targetAttributes(target),
      'gen_ai.operation.name': this.start.operation,
      'http.response.status_code': status,
      'error.type': isError ? String(status ?? 'no_answer') : undefined,
    });
    if (isError) span.setStatus(failed);
    span.end(this.parts.clock.wallMs());
  }

  onServed(facts: ServedFacts): void {
    this.served = facts;
  }

  /** @param status The status sent to the client, if no more is known. */
  end(status: number): void {
    const { clock, span, startedAtMs } = this.parts;
    const { requestId, route, arrivedAt, tableGeneration, namespace } = this.start;
    const { served } = this;
    const worst = served?.status ?? status;
    span.setAttributes({
      'http.request.method': 'POST',
      'http.route': route,
      'url.path': route,
      'url.scheme': 'http',
      'http.response.status_code': status,
      'error.type': worst >= 400 ? String(worst) : undefined,
      'gen_ai.operation.name': this.start.operation ?? operationOf(route.replace('/v1', '')),
      'gen_ai.provider.name': 'penstock',
      'gen_ai.request.model': served?.model,
      'gen_ai.request.stream': served?.isStream,
      'gen_ai.response.time_to_first_chunk': seconds(served?.firstContentMs),
      'penstock.request.id': requestId,
      'penstock.namespace': namespace,
      'penstock.attempts': served?.attempts,
      'penstock.table.generation': tableGeneration,
    });
    // What the caller did wrong is no error of the server (conventions for HTTP spans).
    if (worst >= 500) span.setStatus(failed);
    span.end(startedAtMs + clock.now() - arrivedAt);
  }
}

const failed = { code: SpanStatusCode.ERROR };

function attemptAttributes(record: LedgerRecord, { target, servedModel }: AttemptFacts): Attributes {
  const { usage, costPicodollars } = record;
  return {
    ...targetAttributes(target),
    'gen_ai.operation.name': operationOf(record.upstreamDialect),
    'gen_ai.request.stream': record.isStream,
    'gen_ai.response.model': servedModel?.slice(0, servedModelLengthMax),
    'gen_ai.response.time_to_first_chunk': seconds(record.firstContentMs),
    'gen_ai.usage.input_tokens': usage.input,
    'gen_ai.usage.output_tokens': usage.output,
    'gen_ai.usage.cache_read.input_tokens': usage.cachedInput || undefined,
    'gen_ai.usage.cache_write.input_tokens': usage.cacheWrite || undefined,
    'gen_ai.usage.reasoning.output_tokens': usage.reasoning || undefined,
    'http.response.status_code': record.status,
    'error.type': record.failure ?? (record.outcome === 'cancelled' ? 'cancelled' : undefined),
    'penstock.attempt': record.attempt,
    'penstock.outcome': record.outcome,
    'penstock.cost_usd': costPicodollars === null ? undefined : costPicodollars / 1e12,
  };
}

/** Provider, model and operation of the attempt. */
function targetAttributes({ provider, entry }: TargetView): Attributes {
  const address = new URL(provider.entry.baseUrl);
  return {
    'gen_ai.provider.name': providerNameOf(provider.entry.type),
    'gen_ai.request.model': entry.upstreamModel,
    'server.address': address.hostname,
    'server.port': Number(address.port) || (address.protocol === 'http:' ? 80 : 443),
    'penstock.provider': provider.entry.id,
    'penstock.target': entry.name,
  };
}

function seconds(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : ms / 1000;
}
