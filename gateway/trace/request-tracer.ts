// Which requests are traced, and what do they pass on to their upstreams?

import { ROOT_CONTEXT, SpanKind, type Tracer } from '@opentelemetry/api';
import type { Clock } from '../../core/clock.ts';
import { readTraceContext, traceHeaders } from '../../core/telemetry/trace-context.ts';
import { readClientRequestId } from '../request/request-id.ts';
import { type RequestStart, RequestTrace } from './request-trace.ts';

export interface RequestTracer {
  /** Undefined: the request is not traced and came with no context, so there is nothing to do for it. */
  begin(rawHeaders: readonly string[], start: RequestStart): RequestTracing | undefined;
}

/** The trace of one request. */
export type RequestTracing = Pick<
  RequestTrace,
  'openAttempt' | 'endAttempt' | 'endCount' | 'onServed' | 'end'
>;

interface RequestTracerParts {
  readonly clock: Clock;
  readonly tracer: Tracer;
}

export function createRequestTracer({ clock, tracer }: RequestTracerParts): RequestTracer {
  return {
    begin(rawHeaders, start) {
      const parent = readTraceContext(rawHeaders);
      const startedAtMs = clock.wallMs();
      // The sampler decides here, before anything is built.
      const options = { kind: SpanKind.SERVER, startTime: startedAtMs };
      const span = tracer.startSpan(`POST ${start.route}`, options, parent);
      if (span.isRecording()) {
        span.setAttributes({ 'penstock.request.client_id': readClientRequestId(rawHeaders) });
        return new RequestTrace({ clock, tracer, span, startedAtMs }, start);
      }
      // A trace that begins here and is not sampled is not passed on: the upstream may decide for itself.
      return parent === ROOT_CONTEXT ? undefined : passedOn(traceHeaders(parent));
    },
  };
}

/** Other systems may trace the request: their context is forwarded unchanged. */
function passedOn(headers: readonly string[]): RequestTracing {
  const attempt = { headers, span: undefined };
  return { openAttempt: () => attempt, endAttempt() {}, endCount() {}, onServed() {}, end() {} };
}
