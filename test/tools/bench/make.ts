// A sound measurement; tests say what differs.

import type { LoadResult } from '../../../tools/bench/load.ts';
import type { HoldMeasurement, LoadMeasurement } from '../../../tools/bench/measurement.ts';

export function makeResult(difference: Partial<LoadResult> = {}): LoadResult {
  return {
    event: 'result',
    seconds: 3,
    good: 300,
    refused: 0,
    bad: 0,
    gaveUp: false,
    events: 0,
    unfinished: 0,
    reconnects: 0,
    lost: 0,
    badReasons: {},
    firstBad: '',
    latencyMs: { count: 300, mean: 1, p50: 1, p99: 2, max: 3 },
    latenciesMs: [],
    firstEventMs: null,
    eventDelayMs: null,
    refusalMs: null,
    ...difference,
  };
}

export function makeLoadMeasurement(difference: Partial<LoadMeasurement>): LoadMeasurement {
  return {
    kind: 'load',
    round: 1,
    scenario: 'unary-1k',
    target: 'gateway',
    units: 300,
    unitsPerSecond: 100,
    cpuUsPerUnit: 40,
    coresUsed: 0.5,
    proxyCoreBusy: 0.5,
    loadCoreBusy: 0.5,
    threadsEnded: 0,
    rssMib: 100,
    client: makeResult(),
    ...difference,
  };
}

export function makeHoldMeasurement(difference: Partial<HoldMeasurement>): HoldMeasurement {
  return {
    kind: 'hold',
    round: 1,
    scenario: 'hold-waiting',
    target: 'gateway',
    streams: 1000,
    rssKibPerStream: 16,
    rssMibBefore: 100,
    rssMibOpen: 116,
    client: makeResult({ good: 0 }),
    ...difference,
  };
}
