// Is this upstream worth a request now? A circuit breaker as a pure state machine:
//
//   closed --n failures in a row, or half of many, or three broken streams in a row--> open
//     ^                                                                                 | time is up
//     | 30 s                                                                            v
//   slow start <--two trials in a row were answered-- half-open --a trial failed--> open (for twice as long)
//
// A trial is answered with the first content of its stream, long before the stream ends; without a stream, with its end. Only
// then may the next trial begin, or after five seconds. The result of an attempt that began before the circuit last opened is
// outdated, and ignored.

export interface CircuitLimits {
  /** 0: the circuit is closed, whatever was before. */
  readonly consecutiveFailures: number;
  readonly openForMs: number;
  readonly maxOpenMs: number;
}

export interface Circuit {
  /** Attempts in a row that failed before any content. */
  readonly failures: number;
  /** Streams in a row that broke off after their first content. */
  readonly streamFailures: number;
  readonly streamFailedAtMs: number;
  /** How often it has opened without a whole slow start in between. */
  readonly openings: number;
  readonly openedAtMs: number;
  readonly openUntilMs: number;
  /** One word: the failure that opened the breaker, or the last failure since. */
  readonly cause: string | undefined;
  /** When the last trial of a half-open circuit began. */
  readonly trialSinceMs: number | undefined;
  /** Trials answered since it was open. */
  readonly successes: number;
  /** When it closed again; undefined while it is open or half-open, and where it has never opened. */
  readonly closedAtMs: number | undefined;
  /** Calls of the last half minute, from the first failure on. */
  readonly recent: Recent;
}

type Phase = 'closed' | 'open' | 'half-open' | 'slow-start';

interface Recent {
  readonly now: Tally;
  readonly before: Tally;
  readonly sinceMs: number;
}

interface Tally {
  readonly calls: number;
  readonly failures: number;
}

const noCalls: Tally = { calls: 0, failures: 0 };

export const closedCircuit: Circuit = {
  failures: 0,
  streamFailures: 0,
  streamFailedAtMs: Number.NEGATIVE_INFINITY,
  openings: 0,
  openedAtMs: Number.NEGATIVE_INFINITY,
  openUntilMs: 0,
  cause: undefined,
  trialSinceMs: undefined,
  successes: 0,
  closedAtMs: undefined,
  recent: { now: noCalls, before: noCalls, sinceMs: 0 },
};

/** A plain answer tells nothing before its end, which may be minutes away. A dead upstream is asked no more often than so. */
const trialPatienceMs = 5_000;
const trialsToClose = 2;
const streamFailuresMax = 3;

/** Broken streams further apart are no row. Plain answers between them do not count: a proxy may end just what takes long. */
const streamRowMs = 300_000;

/** State that is unused for this long is dropped: the target may have recovered, or is in no table any more. */
const untriedMemoryMs = 600_000;

/** An upstream that fails now and then never fails five times in a row, and is no better for it. */
const failing = { ofFailures: 0.5, callsMin: 20, windowMs: 30_000 } as const;

const slowStart = { fromShare: 0.1, forMs: 30_000 } as const;

/** Longest open times are up to this much longer than shortest ones: pods that opened together do not try together. */
const jitter = 0.2;

export function phaseOf({ openings, openUntilMs, closedAtMs }: Circuit, nowMs: number): Phase {
  if (openings === 0) return 'closed';
  if (closedAtMs === undefined) return nowMs < openUntilMs ? 'open' : 'half-open';
  return nowMs - closedAtMs < slowStart.forMs ? 'slow-start' : 'closed';
}

/** One request at a time is admitted after the open time. */
export function mayTry(circuit: Circuit, nowMs: number): boolean {
  switch (phaseOf(circuit, nowMs)) {
    case 'closed':
    case 'slow-start':
      return true;
    case 'open':
      return false;
    case 'half-open':
      return circuit.trialSinceMs === undefined || nowMs - circuit.trialSinceMs >= trialPatienceMs;
  }
}

/** The part of its usual calls that it is to get, from 0 to 1: after a failure less, and more by the second. */
export function shareOf(circuit: Circuit, nowMs: number): number {
  const { closedAtMs } = circuit;
  if (closedAtMs === undefined || phaseOf(circuit, nowMs) !== 'slow-start') return 1;
  return slowStart.fromShare + (1 - slowStart.fromShare) * ((nowMs - closedAtMs) / slowStart.forMs);
}

export function onTried(circuit: Circuit, nowMs: number): Circuit {
  return phaseOf(circuit, nowMs) === 'half-open' ? { ...circuit, trialSinceMs: nowMs } : circuit;
}

/** An attempt that began at `startedAtMs` has brought content, or has ended well without any. */
export function onAnswered(circuit: Circuit, startedAtMs: number, nowMs: number): Circuit {
  if (isOldNews(circuit, startedAtMs)) return circuit;
  const phase = phaseOf(circuit, nowMs);
  if (phase === 'closed' || phase === 'slow-start') {
    return { ...circuit, failures: 0, recent: count(circuit.recent, 1, 0, nowMs) };
  }
  const successes = circuit.successes + 1;
  if (successes >= trialsToClose) {
    const { openings, openedAtMs, cause } = circuit;
    return { ...closedCircuit, openings, openedAtMs, cause, closedAtMs: nowMs };
  }
  // The last resort was tried while it was open: what answers need not wait for its time.
  const openUntilMs = Math.min(circuit.openUntilMs, nowMs);
  return { ...onReleased(circuit, startedAtMs), successes, openUntilMs };
}

/** A stream has come to its end: those that broke off before it are forgiven. */
export function onStreamEnded(circuit: Circuit, startedAtMs: number): Circuit {
  return isOldNews(circuit, startedAtMs) ? circuit : { ...circuit, streamFailures: 0 };
}

/** @param random From 0 (inclusive) to 1 (exclusive). */
export function onFailure(
  circuit: Circuit,
  limits: CircuitLimits,
  { startedAtMs, cause }: { readonly startedAtMs: number; readonly cause: string },
  nowMs: number,
  random: number,
): Circuit {
  if (limits.consecutiveFailures === 0) return closedCircuit;
  if (isOldNews(circuit, startedAtMs)) return circuit;
  switch (phaseOf(circuit, nowMs)) {
    case 'open':
      return circuit;
    case 'half-open':
      // The last resort of the time before says nothing that was not known.
      if (startedAtMs < circuit.openUntilMs) return circuit;
      return open(circuit, limits, cause, nowMs, random);
    case 'closed':
    case 'slow-start': {
      const failures = circuit.failures + 1;
      const recent = count(circuit.recent, 1, 1, nowMs);
      // guard: breaker-opens
      const isEnough = failures >= limits.consecutiveFailures || isMostlyFailing(recent);
      if (!isEnough) return { ...circuit, failures, recent, cause };
      return open(circuit, limits, cause, nowMs, random);
    }
  }
}

/** For a stream that broke off after its first content. */
export function onStreamFailure(
  circuit: Circuit,
  limits: CircuitLimits,
  { startedAtMs, cause }: { readonly startedAtMs: number; readonly cause: string },
  nowMs: number,
  random: number,
): Circuit {
  if (limits.consecutiveFailures === 0) return closedCircuit;
  if (isOldNews(circuit, startedAtMs)) return circuit;
  switch (phaseOf(circuit, nowMs)) {
    case 'open':
      return circuit;
    case 'half-open':
      // Its content was taken for an answer, and was none.
      return open(circuit, limits, cause, nowMs, random);
    case 'closed':
    case 'slow-start': {
      const streamFailures = brokenLately(circuit, nowMs) + 1;
      // Its call was counted with its content.
      const recent = count(circuit.recent, 0, 1, nowMs);
      const isEnough = streamFailures >= streamFailuresMax || isMostlyFailing(recent);
      if (!isEnough) return { ...circuit, streamFailures, streamFailedAtMs: nowMs, recent };
      return open(circuit, limits, cause, nowMs, random);
    }
  }
}

/** A trial that ended without a verdict: the next request makes another. */
export function onReleased(circuit: Circuit, startedAtMs: number): Circuit {
  return circuit.trialSinceMs === startedAtMs ? { ...circuit, trialSinceMs: undefined } : circuit;
}

/** Whether there is nothing left to remember. */
export function isForgettable(circuit: Circuit, nowMs: number): boolean {
  const { failures, recent, openUntilMs, trialSinceMs = openUntilMs } = circuit;
  switch (phaseOf(circuit, nowMs)) {
    case 'closed':
      return (
        failures + brokenLately(circuit, nowMs) + recent.now.failures + recent.before.failures === 0 ||
        nowMs - recent.sinceMs >= untriedMemoryMs
      );
    case 'half-open':
      return nowMs - Math.max(openUntilMs, trialSinceMs) >= untriedMemoryMs;
    case 'open':
    case 'slow-start':
      return false;
  }
}

function brokenLately({ streamFailures, streamFailedAtMs }: Circuit, nowMs: number): number {
  return nowMs - streamFailedAtMs < streamRowMs ? streamFailures : 0;
}

function open(
  circuit: Circuit,
  { openForMs, maxOpenMs }: CircuitLimits,
  cause: string,
  nowMs: number,
  random: number,
): Circuit {
  const openings = phaseOf(circuit, nowMs) === 'closed' ? 0 : circuit.openings;
  const shortestMs = Math.min(openForMs * 2 ** openings, maxOpenMs / (1 + jitter));
  return {
    ...closedCircuit,
    openings: openings + 1,
    openedAtMs: nowMs,
    openUntilMs: nowMs + shortestMs * (1 + jitter * random),
    cause,
  };
}

function isOldNews({ openings, openedAtMs }: Circuit, startedAtMs: number): boolean {
  return openings > 0 && startedAtMs < openedAtMs;
}

function isMostlyFailing({ now, before }: Recent): boolean {
  const calls = now.calls + before.calls;
  return calls >= failing.callsMin && now.failures + before.failures >= calls * failing.ofFailures;
}

/** Two halves of the window: the older one is forgotten as a whole. */
function count(recent: Recent, calls: 0 | 1, failures: 0 | 1, nowMs: number): Recent {
  const halfMs = failing.windowMs / 2;
  const age = nowMs - recent.sinceMs;
  const rolled: Recent =
    age < halfMs ? recent : { now: noCalls, before: age < 2 * halfMs ? recent.now : noCalls, sinceMs: nowMs };
  return {
    ...rolled,
    now: { calls: rolled.now.calls + calls, failures: rolled.now.failures + failures },
  };
}
