// Which requests are traced, and what do they pass on to their upstreams?

import type { Span } from '../../telemetry/items.ts';
import { isTraced, type Sampler } from '../../telemetry/sampling.ts';
import { newSpanId, newTraceId, readTraceContext, traceHeaders } from '../../telemetry/trace-context.ts';
import type { Clock } from '../clock.ts';
import { type RequestStart, RequestTrace } from './request-trace.ts';

export interface Tracer {
  /** Undefined: the request is not traced and came with no context, so there is nothing to do for it. */
  begin(rawHeaders: readonly string[], start: RequestStart): RequestTracing | undefined;
}

/** What is traced of one request. */
export type RequestTracing = Pick<
  RequestTrace,
  'traceId' | 'openAttempt' | 'endAttempt' | 'onServed' | 'end'
>;

export interface TracerParts {
  readonly clock: Clock;
  /** From 0 (inclusive) to 1 (exclusive). */
  readonly random: () => number;
  readonly sampler: Sampler;
  add(span: Span): void;
}

export function createTracer({ clock, random, sampler, add }: TracerParts): Tracer {
  return {
    begin(rawHeaders, start) {
      const parent = readTraceContext(rawHeaders);
      if (isTraced(sampler, parent, random)) {
        const ids = { traceId: parent?.traceId ?? newTraceId(), spanId: newSpanId() };
        return new RequestTrace({ clock, add, parent, ...ids }, start);
      }
      return parent && passedOn(traceHeaders(parent));
    },
  };
}

/** Others trace it perhaps: their context goes on as it came. */
function passedOn(headers: readonly string[]): RequestTracing {
  const attempt = { headers, spanId: undefined };
  return { traceId: undefined, openAttempt: () => attempt, endAttempt() {}, onServed() {}, end() {} };
}
