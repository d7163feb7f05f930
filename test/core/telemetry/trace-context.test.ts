// Whose trace is a request part of, and what is passed on of it? By the W3C recommendation.

import { ROOT_CONTEXT, TraceFlags, trace } from '@opentelemetry/api';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readTraceContext, traceHeaders } from '../../../core/telemetry/trace-context.ts';

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const spanId = '00f067aa0ba902b7';
const good = `00-${traceId}-${spanId}-01`;

const parentOf = (rawHeaders: readonly string[]) => trace.getSpanContext(readTraceContext(rawHeaders));

describe('a traceparent', () => {
  test('has trace, span and whether it is recorded', () => {
    expect(parentOf(['Host', 'traceparent', 'TraceParent', good])).toEqual({
      traceId,
      spanId,
      traceFlags: TraceFlags.SAMPLED,
      isRemote: true,
    });
    expect(parentOf(['traceparent', `00-${traceId}-${spanId}-02`])?.traceFlags).toBe(TraceFlags.NONE);
  });

  test('of a later version is read as far as this version knows it', () => {
    expect(parentOf(['traceparent', `cc-${traceId}-${spanId}-01-what-comes`])).toMatchObject({ traceId });
  });

  test.each([
    ['none', []],
    ['an empty one', ['traceparent', '']],
    ['two', ['traceparent', good, 'traceparent', good]],
    ['capitals', ['traceparent', good.toUpperCase()]],
    ['no trace', ['traceparent', `00-${'0'.repeat(32)}-${spanId}-01`]],
    ['no span', ['traceparent', `00-${traceId}-${'0'.repeat(16)}-01`]],
    ['the invalid version', ['traceparent', `ff-${traceId}-${spanId}-01`]],
    ['more than version 00 has', ['traceparent', `${good}-x`]],
    ['too few digits', ['traceparent', `00-${traceId.slice(1)}-${spanId}-01`]],
    ['a line of its own', ['traceparent', `${good}\r\nx: y`]],
    ['a state alone', ['tracestate', 'a=1']],
    ['one that is the value of another', ['x', 'traceparent', good, 'y']],
  ])('%s: the request has no trace', (_, headers) => {
    expect(readTraceContext(headers)).toBe(ROOT_CONTEXT);
  });

  test.each(['01', '03', 'ff'])('with flags %s is passed on with the one known flag', (flags) => {
    const read = readTraceContext(['traceparent', `00-${traceId}-${spanId}-${flags}`]);
    expect(traceHeaders(read)).toEqual(['traceparent', good]);
  });

  test('any text is read or refused, and a read one is written unchanged', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string(), fc.stringMatching(/^00-[0-9a-f]{32}-[0-9a-f]{16}-0[01]$/)),
        (text) => {
          const context = readTraceContext(['traceparent', text]);
          if (context !== ROOT_CONTEXT) expect(traceHeaders(context)).toEqual(['traceparent', text]);
        },
      ),
    );
  });
});

describe('a tracestate', () => {
  const tooMany = Array.from({ length: 40 }, (_, index) => `k${index}=1`);
  test.each([
    [['a=1'], 'a=1'],
    [['a=1', 'b@c=2, d/e=3'], 'a=1,b@c=2,d/e=3'],
    [['a=1,,b=2'], 'a=1,b=2'],
    [['A=1,b=2'], 'b=2'],
    [['a=\u0007'], undefined],
    [['a'], undefined],
    [[''], undefined],
    [[tooMany.join(',')], tooMany.slice(0, 32).join(',')],
    [[`a=${'x'.repeat(300)}`], undefined],
    // 512 characters in all are as much as anybody has to pass on.
    [[`a=${'x'.repeat(256)},b=${'x'.repeat(256)}`], `a=${'x'.repeat(256)}`],
  ])('%j is passed on as %j', (states, passed) => {
    const context = readTraceContext([
      'traceparent',
      good,
      ...states.flatMap((state) => ['tracestate', state]),
    ]);
    const state = passed === undefined ? [] : ['tracestate', passed];
    expect(traceHeaders(context)).toEqual(['traceparent', good, ...state]);
  });
});
