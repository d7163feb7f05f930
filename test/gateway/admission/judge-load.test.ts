// How many requests may be in flight, by what was measured? Looks are a tenth of a second apart.

import { describe, expect, test } from 'vitest';
import { defaultBounds } from '../../../gateway/admission/bounds.ts';
import {
  calm,
  judgeLoad,
  type LoadReading,
  type LoadVerdict,
} from '../../../gateway/admission/judge-load.ts';

const bounds = defaultBounds(768 * 1024 * 1024);

/** A process with nothing to complain of, but for what is given. */
const reading = (differs: Partial<LoadReading> = {}): LoadReading => ({
  turnMs: 2,
  busyShare: 1,
  loopDelayMs: 1,
  heapShare: 0.3,
  inFlight: 500,
  looks: 1,
  ...differs,
});

function judgeAll(readings: readonly Partial<LoadReading>[], from: LoadVerdict = calm(bounds)): LoadVerdict {
  return readings.reduce(
    (verdict: LoadVerdict, differs) => judgeLoad(verdict, reading(differs), bounds),
    from,
  );
}

const times = (count: number, differs: Partial<LoadReading>): Partial<LoadReading>[] =>
  Array.from({ length: count }, () => differs);

describe('the event loop', () => {
  test('with short turns lowers no limit but the fixed one', () => {
    expect(judgeAll(times(50, { inFlight: 4_000 }))).toEqual(calm(bounds));
  });

  test('with turns that are long for a moment lowers no limit', () => {
    expect(judgeAll(times(4, { turnMs: 400 }))).toMatchObject({ inFlightMax: bounds.inFlightMax });
    expect(judgeAll([...times(4, { turnMs: 400 }), {}, ...times(4, { turnMs: 400 })])).toMatchObject({
      inFlightMax: bounds.inFlightMax,
    });
  });

  test('with idle time lowers no limit, however long its turns: another process uses the CPU', () => {
    expect(judgeAll(times(50, { turnMs: 400, loopDelayMs: 400, busyShare: 0.9 }))).toEqual(calm(bounds));
  });

  test.each([
    ['a little too long', 52, 475],
    ['twice too long', 100, 375],
    ['much too long', 900, 375],
  ])('with turns that stay %s admits fewer requests than are running', (_, turnMs, inFlightMax) => {
    expect(judgeAll(times(5, { turnMs }))).toMatchObject({
      inFlightMax,
      reason: 'event_loop',
      accepts: true,
    });
  });

  test('gets time to recover: a limit that is not reached yet is not lowered again', () => {
    const bounded = judgeAll(times(5, { turnMs: 100 }));
    expect(judgeAll(times(10, { turnMs: 52, inFlight: 400 }), bounded).inFlightMax).toBe(375);
    expect(judgeAll(times(2, { turnMs: 52, inFlight: 375 }), bounded).inFlightMax).toBe(356);
  });

  test('with short turns again raises the limit step by step, and doubles it in two seconds', () => {
    const bounded = judgeAll(times(5, { turnMs: 100 }));
    expect(judgeAll([{}], bounded).inFlightMax).toBe(390);
    const later = judgeAll(times(20, {}), bounded).inFlightMax;
    expect(later).toBeGreaterThan(2 * bounded.inFlightMax);
    expect(judgeAll(times(100, {}), bounded)).toEqual(calm(bounds));
  });

  test.each([
    [99, 4_096],
    [101, 475],
    [160, 395],
    [5_000, 375],
  ])('that is late by %s ms in one of a hundred cases admits %s', (loopDelayMs, inFlightMax) => {
    expect(judgeAll([{ loopDelayMs }])).toMatchObject({ inFlightMax });
  });

  test('with turns longer than the interval lowers the limit once for each missed measurement', () => {
    expect(judgeAll([{ turnMs: 600, looks: 6, inFlight: 2_000 }])).toMatchObject({ inFlightMax: 577 });
  });

  test('always admits at least 64 requests', () => {
    expect(judgeAll(times(200, { turnMs: 5_000, inFlight: 0 })).inFlightMax).toBe(64);
  });
});

describe('the heap', () => {
  test.each([
    [0.84, bounds.inFlightMax, 'in_flight', true],
    [0.85, 0, 'heap', true],
    [0.91, 0, 'heap', true],
    [0.92, 0, 'heap', false],
    [0.99, 0, 'heap', false],
  ] as const)(
    'used to a share of %s: %s requests, for the reason %s, connections: %s',
    (heapShare, inFlightMax, reason, accepts) => {
      expect(judgeAll([{ heapShare }])).toMatchObject({ inFlightMax, reason, accepts });
    },
  );

  test('admits again only well below the threshold: first as many as are running, then more', () => {
    const full = judgeAll([{ heapShare: 0.93 }]);
    expect(judgeAll([{ heapShare: 0.88 }], full)).toMatchObject({ inFlightMax: 0, accepts: false });
    expect(judgeAll([{ heapShare: 0.86 }], full)).toMatchObject({ inFlightMax: 0, accepts: true });
    expect(judgeAll([{ heapShare: 0.81 }], full)).toMatchObject({ inFlightMax: 0 });
    expect(judgeAll([{ heapShare: 0.79, inFlight: 100 }], full)).toMatchObject({
      inFlightMax: 104,
      accepts: true,
    });
  });
});
