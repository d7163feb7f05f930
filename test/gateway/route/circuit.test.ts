// Closed, open, half-open: when may an upstream be tried?

import { describe, expect, test } from 'vitest';
import {
  type Circuit,
  type CircuitLimits,
  closedCircuit,
  mayTry,
  onContent,
  onFailure,
  onSuccess,
  onTried,
} from '../../../gateway/route/circuit.ts';

const limits: CircuitLimits = { consecutiveFailures: 5, openForMs: 5_000, maxOpenMs: 25_000 };

function failed(times: number, nowMs: number, from: Circuit = closedCircuit): Circuit {
  return Array.from({ length: times }).reduce<Circuit>((circuit) => onFailure(circuit, limits, nowMs), from);
}

test('four failures are borne, the fifth opens it', () => {
  expect(mayTry(failed(4, 0), 0)).toBe(true);
  expect(mayTry(failed(5, 0), 0)).toBe(false);
});

test('it is open for five seconds, then one trial goes through at a time', () => {
  const open = failed(5, 0);
  expect([mayTry(open, 4_999), mayTry(open, 5_000)]).toEqual([false, true]);
  expect(mayTry(onTried(open, 5_000), 5_000)).toBe(false);
});

test('each failed trial doubles the time, up to 25 seconds', () => {
  let circuit = failed(5, 0);
  const openTimes: number[] = [];
  for (let n = 0; n < 5; n++) {
    const nowMs = circuit.openUntilMs;
    circuit = onFailure(onTried(circuit, nowMs), limits, nowMs);
    openTimes.push(circuit.openUntilMs - nowMs);
  }
  expect(openTimes).toEqual([10_000, 20_000, 25_000, 25_000, 25_000]);
});

test('requests that were under way when it opened do not open it for longer', () => {
  expect(failed(20, 100).openUntilMs).toBe(failed(5, 100).openUntilMs);
});

describe('a trial that brings content', () => {
  const answering = onContent(onTried(failed(5, 0), 5_000), 5_100);

  test('lets all through before it ends, and it takes five failures again to open', () => {
    expect(mayTry(onTried(answering, 5_200), 5_200)).toBe(true);
    expect(mayTry(failed(4, 5_300, answering), 5_300)).toBe(true);
    expect(mayTry(failed(5, 5_300, answering), 5_300)).toBe(false);
  });

  test('does not make it forget that it has opened: only a success does', () => {
    expect(failed(5, 5_300, answering).openUntilMs).toBe(15_300);
    expect(onSuccess(answering, 5_300)).toBeUndefined();
  });
});

test('content that comes while it is open, of a request from before, opens no way', () => {
  expect(mayTry(onContent(failed(5, 0), 100), 100)).toBe(false);
});

test('a trial that never reports is given up after a minute', () => {
  const tried = onTried(failed(5, 0), 5_000);
  expect([mayTry(tried, 65_000), mayTry(tried, 65_001)]).toEqual([false, true]);
});

test('a closed circuit counts no trials', () => {
  expect(onTried(failed(4, 0), 9)).toEqual(failed(4, 0));
});

test('without a number of failures it never opens', () => {
  let circuit = closedCircuit;
  for (let n = 0; n < 100; n++) circuit = onFailure(circuit, { ...limits, consecutiveFailures: 0 }, n);
  expect(mayTry(circuit, 0)).toBe(true);
});

describe('an upstream that fails now and then', () => {
  /** One call every `everyMs`, failing where the pattern says so. */
  function history(calls: number, isFailure: (n: number) => boolean, everyMs: number): Circuit {
    let circuit: Circuit | undefined;
    for (let n = 0; n < calls; n++) {
      if (isFailure(n)) circuit = onFailure(circuit ?? closedCircuit, limits, n * everyMs);
      else if (circuit) circuit = onSuccess(circuit, n * everyMs);
    }
    return circuit ?? closedCircuit;
  }
  const threeOfFour = (n: number): boolean => n % 4 !== 3;

  test('three times in four opens it, but not before twenty calls', () => {
    expect(history(19, threeOfFour, 100).openings).toBe(0);
    expect(history(21, threeOfFour, 100).openings).toBe(1);
  });

  test('once in three does not open it', () => {
    expect(history(300, (n) => n % 3 === 0, 100).openings).toBe(0);
  });

  test('is not held against it half a minute later: too few calls in the window never open it', () => {
    expect(history(100, threeOfFour, 2_000).openings).toBe(0);
  });

  test('is forgotten with the success of the trial', () => {
    const open = history(21, threeOfFour, 100);
    expect(onSuccess(onTried(open, open.openUntilMs), open.openUntilMs)).toBeUndefined();
  });
});
