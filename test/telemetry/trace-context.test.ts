// Whose trace is a request part of, and is it recorded? By the W3C recommendation and the samplers of OpenTelemetry.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isTraced, samplerNames, samplerOf } from '../../telemetry/sampling.ts';
import { newSpanId, newTraceId, readTraceContext, traceHeaders } from '../../telemetry/trace-context.ts';

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const spanId = '00f067aa0ba902b7';
const good = `00-${traceId}-${spanId}-01`;

describe('a traceparent', () => {
  test('says trace, span and whether it is recorded', () => {
    expect(readTraceContext(['TraceParent', good])).toEqual({ traceId, spanId, isSampled: true });
    expect(readTraceContext(['traceparent', `00-${traceId}-${spanId}-02`])?.isSampled).toBe(false);
  });

  test('of a later version is read as far as it is known', () => {
    expect(readTraceContext(['traceparent', `cc-${traceId}-${spanId}-01-what-comes`])).toMatchObject({
      traceId,
    });
  });

  test.each([
    ['none', []],
    ['an empty one', ['traceparent', '']],
    ['two', ['traceparent', good, 'traceparent', good]],
    ['capitals', ['traceparent', good.toUpperCase()]],
    ['no trace', ['traceparent', `00-${'0'.repeat(32)}-${spanId}-01`]],
    ['no span', ['traceparent', `00-${traceId}-${'0'.repeat(16)}-01`]],
    ['the version that is none', ['traceparent', `ff-${traceId}-${spanId}-01`]],
    ['more than version 00 has', ['traceparent', `${good}-x`]],
    ['too few digits', ['traceparent', `00-${traceId.slice(1)}-${spanId}-01`]],
    ['a line of its own', ['traceparent', `${good}\r\nx: y`]],
    ['more than anybody sends', ['traceparent', `cc${good.slice(2)}-${'x'.repeat(300)}`]],
    ['a state alone', ['tracestate', 'a=1']],
  ])('%s: the request has no trace', (_, headers) => {
    expect(readTraceContext(headers)).toBeUndefined();
  });

  test('any text is read or refused, and what is read is written again as the same', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string(), fc.stringMatching(/^00-[0-9a-f]{32}-[0-9a-f]{16}-0[01]$/)),
        (text) => {
          const context = readTraceContext(['traceparent', text]);
          if (context) expect(traceHeaders(context)).toEqual(['traceparent', text]);
        },
      ),
    );
  });
});

describe('a tracestate', () => {
  test.each([
    [['a=1'], 'a=1'],
    [['a=1', 'b@c=2, d/e=3'], 'a=1,b@c=2,d/e=3'],
    [['a=1,,b=2'], 'a=1,b=2'],
    [['a=1,a=2'], undefined],
    [['A=1'], undefined],
    [['a'], undefined],
    [['a=\u0007'], undefined],
    [[Array.from({ length: 33 }, (_, index) => `k${index}=1`).join(',')], undefined],
    [[`a=${'x'.repeat(256)},b=${'x'.repeat(256)}`], undefined],
    [[''], undefined],
  ])('%j is passed on as %j', (states, passed) => {
    const context = readTraceContext([
      'traceparent',
      good,
      ...states.flatMap((state) => ['tracestate', state]),
    ]);
    expect(context?.traceId).toBe(traceId);
    expect(context?.traceState).toBe(passed);
  });
});

describe('a sampler', () => {
  const parent = (isSampled: boolean) => ({ traceId, spanId, isSampled });
  const low = { ...parent(true), traceId: `${'f'.repeat(18)}${'0'.repeat(14)}` };
  const high = { ...parent(false), traceId: `${'0'.repeat(18)}${'f'.repeat(14)}` };

  test.each([
    ['always_on', [true, true, true, true]],
    ['always_off', [false, false, false, false]],
    ['traceidratio', [true, false, true, false]],
    ['parentbased_always_on', [true, true, false, true]],
    ['parentbased_always_off', [false, false, false, true]],
    ['parentbased_traceidratio', [true, false, false, true]],
  ] as const)('%s', (name, expected) => {
    const sampler = samplerOf(name, 0.5);
    // A trace of our own with luck and without; one that is not recorded, with a high id; one that is, with a low one.
    expect([
      isTraced(sampler, undefined, () => 0.4),
      isTraced(sampler, undefined, () => 0.6),
      isTraced(sampler, high, () => 0),
      isTraced(sampler, low, () => 0),
    ]).toEqual(expected);
  });

  test('takes all at 1 and none at 0, by luck and by id', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...samplerNames),
        fc.double({ min: 0, max: 0.999_999, noNaN: true }),
        (name, random) => {
          const others = { ...parent(true), traceId: newTraceId() };
          if (!name.endsWith('traceidratio')) return;
          expect(isTraced(samplerOf(name, 1), undefined, () => random)).toBe(true);
          expect(isTraced(samplerOf(name, 0), undefined, () => random)).toBe(false);
          expect(isTraced(samplerOf('traceidratio', 1), others, () => random)).toBe(true);
          expect(isTraced(samplerOf('traceidratio', 0), others, () => random)).toBe(false);
        },
      ),
    );
  });
});

test('ids are what the recommendation asks for', () => {
  expect(newTraceId()).toMatch(/^[0-9a-f]{32}$/);
  expect(newSpanId()).toMatch(/^[0-9a-f]{16}$/);
  expect(newSpanId()).not.toBe(newSpanId());
});
