// Are wasted calls counted as what they are?

import { expect, test } from 'vitest';
import { judgeWaste } from './judge-waste.ts';

const breaker = { consecutiveFailures: 3 };
const call = (startedAtMs: number, endedAtMs: number | undefined = startedAtMs + 10) => ({
  startedAtMs,
  endedAtMs,
});

test('waste is the calls that open the breaker, the calls in flight at that time, and each later call', () => {
  expect(judgeWaste([call(0), call(20), call(25), call(30), call(5_000), call(11_000)], breaker)).toEqual({
    untilOpen: 4,
    inFlight: 1,
    probes: 2,
    leastPauseMs: 4_960,
  });
});

test('a breaker that never opens has no probes, and an unfinished call opens none', () => {
  expect(judgeWaste([call(0), call(20, undefined), call(9_000, undefined)], breaker)).toEqual({
    untilOpen: 3,
    inFlight: 0,
    probes: 0,
    leastPauseMs: undefined,
  });
});

test('two probes at once have no pause between them', () => {
  const { probes, leastPauseMs } = judgeWaste([call(0), call(1), call(2), call(100), call(101)], breaker);
  expect([probes, leastPauseMs]).toEqual([2, 88]);
});
