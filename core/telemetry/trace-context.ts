// Which trace does a request belong to? The W3C headers traceparent and tracestate, read and written by OpenTelemetry: callers send them.
// https://www.w3.org/TR/trace-context/

import { type Context, ROOT_CONTEXT, type TextMapGetter, TraceFlags, trace } from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';

const propagator = new W3CTraceContextPropagator();

const getter: TextMapGetter<readonly string[]> = {
  keys: () => [],
  get(rawHeaders, name) {
    // Repeated headers: tracestate is one list (section 3.3.1.1), and a joined traceparent is invalid, so it is ignored.
    const values = rawHeaders.filter((_, at) => at % 2 === 1 && isNamed(rawHeaders[at - 1], name));
    return values.length === 0 ? undefined : values.join(',');
  },
};

/** Lengths are compared first: few other headers have one of these two. */
function isNamed(header: string | undefined, name: string): boolean {
  return header?.length === name.length && header.toLowerCase() === name;
}

/**
 * The root context without a valid parent.
 *
 * @param rawHeaders Names and values in turn, as received.
 */
export function readTraceContext(rawHeaders: readonly string[]): Context {
  const read = propagator.extract(ROOT_CONTEXT, rawHeaders, getter);
  const parent = trace.getSpanContext(read);
  // Other flags are unknown here, so they are not passed on (section 3.2.2.5); the propagator would write some as three digits.
  return parent === undefined
    ? read
    : trace.setSpanContext(read, { ...parent, traceFlags: parent.traceFlags & TraceFlags.SAMPLED });
}

/** The headers that pass a context on, names and values in turn. */
export function traceHeaders(context: Context): readonly string[] {
  const headers: string[] = [];
  propagator.inject(context, headers, {
    set(_, name, value) {
      // An empty tracestate is not sent.
      if (value !== '') headers.push(name, value);
    },
  });
  return headers;
}
