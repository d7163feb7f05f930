// Closed, open, half-open, slow start: when may an upstream be tried, and how much of its calls does it get?

import { describe, expect, test } from 'vitest';
import {
  type Circuit,
  type CircuitLimits,
  closedCircuit,
  isForgettable,
  mayTry,
  onAnswered,
  onFailure,
  onReleased,
  onStreamEnded,
  onStreamFailure,
  onTried,
  phaseOf,
  shareOf,
} from '../../../gateway/route/circuit.ts';

const limits: CircuitLimits = { consecutiveFailures: 5, openForMs: 5_000, maxOpenMs: 25_000 };

function fail(circuit: Circuit, startedAtMs: number, nowMs = startedAtMs, random = 0): Circuit {
  return onFailure(circuit, limits, { startedAtMs, cause: 'status_500' }, nowMs, random);
}

function breakOff(circuit: Circuit, startedAtMs: number, nowMs = startedAtMs): Circuit {
  return onStreamFailure(circuit, limits, { startedAtMs, cause: 'truncated' }, nowMs, 0);
}

function failed(times: number, nowMs: number, from: Circuit = closedCircuit): Circuit {
  return Array.from({ length: times }).reduce<Circuit>((circuit) => fail(circuit, nowMs), from);
}

function trial(circuit: Circuit, nowMs: number): Circuit {
  return onAnswered(onTried(circuit, nowMs), nowMs, nowMs);
}

const open = failed(5, 0);
/** Closed again at 5.2 s. */
const closedAgain = trial(trial(open, 5_100), 5_200);

test('four failures do not open it, the fifth does', () => {
  expect(mayTry(failed(4, 0), 0)).toBe(true);
  expect(mayTry(open, 0)).toBe(false);
  expect(open.cause).toBe('status_500');
});

test('an answer ends a row of failures', () => {
  expect(mayTry(failed(4, 2, onAnswered(failed(4, 0), 1, 1)), 2)).toBe(true);
});

test('it is open for five seconds, then one trial goes through at a time', () => {
  expect([mayTry(open, 4_999), mayTry(open, 5_000)]).toEqual([false, true]);
  const tried = onTried(open, 5_000);
  expect(mayTry(tried, 5_000)).toBe(false);
  expect(
    mayTry(onReleased(tried, 4_000), 5_000),
    'the end of another attempt is not the end of the trial',
  ).toBe(false);
  expect(mayTry(onReleased(tried, 5_000), 5_000), 'a trial without a verdict makes room').toBe(true);
});

test.each([0, 0.5, 0.999])(
  'each failed trial doubles the time and a bit (%d), never above 25 seconds',
  (random) => {
    let circuit = Array.from({ length: 5 }).reduce<Circuit>((one) => fail(one, 0, 0, random), closedCircuit);
    const openTimes = [circuit.openUntilMs];
    for (let n = 0; n < 4; n++) {
      const nowMs = circuit.openUntilMs;
      circuit = fail(onTried(circuit, nowMs), nowMs, nowMs, random);
      openTimes.push(circuit.openUntilMs - nowMs);
    }
    const more = 1 + 0.2 * random;
    const longest = (25_000 / 1.2) * more;
    const expected = [5_000 * more, 10_000 * more, 20_000 * more, longest, longest];
    for (const [n, ms] of openTimes.entries()) expect(ms).toBeCloseTo(expected[n] ?? 0, 6);
    expect(Math.max(...openTimes)).toBeLessThanOrEqual(25_000);
  },
);

describe('an attempt that began before it opened', () => {
  test('does not keep it open longer if it fails', () => {
    expect(failed(20, 0)).toEqual(open);
  });

  test('does not open it again after it is closed', () => {
    const late = Array.from({ length: 9 }).reduce<Circuit>((one) => fail(one, -1, 6_000), closedAgain);
    expect(late).toEqual(closedAgain);
  });

  test('does not close it with content', () => {
    expect(onAnswered(open, -1, 100)).toEqual(open);
    expect(onAnswered(onAnswered(open, -1, 5_001), -1, 5_001)).toEqual(open);
  });
});

describe('a half-open circuit', () => {
  test('is forgotten after ten minutes without a trial', () => {
    expect([604_999, 605_000].map((nowMs) => isForgettable(open, nowMs))).toEqual([false, true]);
    const tried = onTried(open, 65_000);
    expect([664_999, 665_000].map((nowMs) => isForgettable(tried, nowMs))).toEqual([false, true]);
    expect([0, 4_999].map((nowMs) => isForgettable(open, nowMs))).toEqual([false, false]);
  });

  test('needs more than one answered trial, and admits the next after it', () => {
    const once = trial(open, 5_000);
    expect(phaseOf(once, 5_001)).toBe('half-open');
    expect(mayTry(once, 5_001)).toBe(true);
    expect(mayTry(onTried(once, 5_001), 5_001)).toBe(false);
  });

  test('closes after two answered trials', () => {
    expect(phaseOf(closedAgain, 5_200)).toBe('slow-start');
    expect(mayTry(onTried(onTried(closedAgain, 5_201), 5_201), 5_201)).toBe(true);
  });

  test('opens for longer if the second trial fails', () => {
    const again = fail(onTried(trial(open, 5_000), 5_100), 5_100, 5_200);
    expect(phaseOf(again, 5_200)).toBe('open');
    expect(again.openUntilMs).toBe(15_200);
  });

  test('opens again if a stream breaks off after its content', () => {
    expect(phaseOf(breakOff(trial(open, 5_000), 5_000, 5_300), 5_300)).toBe('open');
  });

  test('admits another trial after five seconds without news, and still counts the first', () => {
    const tried = onTried(open, 5_000);
    expect([mayTry(tried, 9_999), mayTry(tried, 10_000)]).toEqual([false, true]);
    const both = onTried(tried, 10_000);
    expect(mayTry(both, 14_999)).toBe(false);
    expect(phaseOf(onAnswered(onAnswered(both, 5_000, 35_000), 10_000, 40_000), 40_000)).toBe('slow-start');
    expect(phaseOf(fail(both, 5_000, 12_000), 12_000)).toBe('open');
  });
});

describe('a last resort while it is open', () => {
  test('makes it half-open with an answer', () => {
    const answered = onAnswered(open, 1_000, 1_100);
    expect(phaseOf(answered, 1_100)).toBe('half-open');
    expect(mayTry(answered, 1_100)).toBe(true);
  });

  test('changes nothing with a failure, even a late one', () => {
    expect(fail(open, 1_000, 1_100)).toEqual(open);
    expect(fail(open, 4_900, 5_100)).toEqual(open);
  });
});

describe('a slow start', () => {
  test('gives a tenth of the calls at first, and all after half a minute', () => {
    const shares = [0, 10_000, 20_000, 29_999, 30_000].map((ms) => shareOf(closedAgain, 5_200 + ms));
    expect(shares.map((share) => Math.round(share * 100))).toEqual([10, 40, 70, 100, 100]);
    expect([closedCircuit, open, failed(4, 0)].map((one) => shareOf(one, 5_200))).toEqual([1, 1, 1]);
  });

  test('bears four failures as always; the fifth opens it for longer than before', () => {
    expect(phaseOf(failed(4, 6_000, closedAgain), 6_000)).toBe('slow-start');
    expect(failed(5, 6_000, closedAgain).openUntilMs).toBe(16_000);
  });

  test('that ended resets the number of openings', () => {
    expect(phaseOf(closedAgain, 35_200)).toBe('closed');
    expect(failed(5, 36_000, closedAgain).openUntilMs).toBe(41_000);
    expect([isForgettable(closedAgain, 35_199), isForgettable(closedAgain, 35_200)]).toEqual([false, true]);
  });
});

describe('streams that break off', () => {
  const broken = (times: number, from: Circuit = closedCircuit): Circuit =>
    Array.from({ length: times }).reduce<Circuit>((one) => breakOff(onAnswered(one, 0, 0), 0), from);

  test('three in a row open it, whatever content they had before', () => {
    expect([phaseOf(broken(2), 0), phaseOf(broken(3), 0)]).toEqual(['closed', 'open']);
  });

  test('a complete stream between them resets the count', () => {
    expect(phaseOf(broken(2, onStreamEnded(broken(2), 0)), 0)).toBe('closed');
  });

  test('more than five minutes apart are no row, and are forgotten', () => {
    const apart = (ms: number): Circuit =>
      [0, ms, 2 * ms].reduce<Circuit>((one, at) => breakOff(onAnswered(one, at, at), at), closedCircuit);
    expect(phaseOf(apart(299_999), 600_000)).toBe('open');
    expect(apart(300_000).openings).toBe(0);
    const one = onAnswered(breakOff(closedCircuit, 0), 40_000, 40_000);
    const later = onAnswered(one, 80_000, 80_000);
    expect([299_999, 300_000].map((nowMs) => isForgettable(later, nowMs))).toEqual([false, true]);
  });
});

test('a closed circuit counts no trials', () => {
  expect(onTried(failed(4, 0), 9)).toEqual(failed(4, 0));
});

describe.each([
  ['failures before content', onFailure],
  ['broken streams', onStreamFailure],
] as const)('if no number of %s may open it', (_, step) => {
  test.each<[string, Circuit, number]>([
    ['it never opens', closedCircuit, 0],
    ['it does not stay open', open, 0],
    ['it does not stay half-open', open, 5_000],
    ['it does not stay in slow start', closedAgain, 5_200],
  ])('%s', (_name, before, fromMs) => {
    let circuit = before;
    const off = { ...limits, consecutiveFailures: 0 };
    for (let nowMs = fromMs; nowMs < fromMs + 100; nowMs++) {
      circuit = step(circuit, off, { startedAtMs: nowMs, cause: 'reset' }, nowMs, 0);
      expect(phaseOf(circuit, nowMs)).toBe('closed');
    }
  });
});

describe('an upstream that fails now and then', () => {
  /** One call every `everyMs`, failing where the pattern says so. */
  function history(calls: number, isFailure: (n: number) => boolean, everyMs: number): Circuit {
    let circuit = closedCircuit;
    for (let n = 0; n < calls; n++) {
      const nowMs = n * everyMs;
      circuit = isFailure(n) ? fail(circuit, nowMs) : onAnswered(circuit, nowMs, nowMs);
    }
    return circuit;
  }
  const threeOfFour = (n: number): boolean => n % 4 !== 3;

  test('three times in four opens it, but not before twenty calls', () => {
    expect(history(19, threeOfFour, 100).openings).toBe(0);
    expect(history(21, threeOfFour, 100).openings).toBe(1);
  });

  test('once in three does not open it', () => {
    expect(history(300, (n) => n % 3 === 0, 100).openings).toBe(0);
  });

  test('is forgiven after half a minute: too few calls in the window never open it', () => {
    expect(history(100, threeOfFour, 2_000).openings).toBe(0);
  });

  test('starts at zero when it closes again', () => {
    const shut = history(21, threeOfFour, 100);
    const closed = trial(trial(shut, shut.openUntilMs), shut.openUntilMs + 1);
    expect(phaseOf(failed(4, shut.openUntilMs + 2, closed), shut.openUntilMs + 2)).toBe('slow-start');
  });
});
