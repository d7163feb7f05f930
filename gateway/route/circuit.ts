// Is this upstream worth a request now? A circuit breaker as a pure state machine:
//
//   closed --n failures in a row, or half of many--> open --time is up--> half-open --content, success--> closed
//                                                     ^                       |
//                                                     +--------failure--------+   (open for twice as long)
//
// A stream that brings content lets others through, long before it ends; how often it has opened is forgotten with an end.

export interface CircuitLimits {
  /** 0: the circuit never opens. */
  readonly consecutiveFailures: number;
  readonly openForMs: number;
  readonly maxOpenMs: number;
}

export interface Circuit {
  /** Failures in a row. */
  readonly failures: number;
  /** How often it has opened without a success in between. */
  readonly openings: number;
  readonly openUntilMs: number;
  /** When the one trial of a half-open circuit began; a trial that never reports is given up. */
  readonly trialSinceMs: number | undefined;
  /** It has opened, and brings content again: all may try, and it takes as many failures as before to open it once more. */
  readonly isAnswering: boolean;
  /** Calls of the last half minute, from the first failure on. */
  readonly recent: Recent;
}

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
  openings: 0,
  openUntilMs: 0,
  trialSinceMs: undefined,
  isAnswering: false,
  recent: { now: noCalls, before: noCalls, sinceMs: 0 },
};

const trialPatienceMs = 60_000;

/** An upstream that fails now and then never fails five times in a row, and is no better for it. */
const share = { ofFailures: 0.5, callsMin: 20, windowMs: 30_000 } as const;

/** One request at a time is let through when the open time is up. */
export function mayTry(circuit: Circuit, nowMs: number): boolean {
  if (isLetThrough(circuit)) return true;
  if (nowMs < circuit.openUntilMs) return false;
  return circuit.trialSinceMs === undefined || nowMs - circuit.trialSinceMs > trialPatienceMs;
}

export function onTried(circuit: Circuit, nowMs: number): Circuit {
  return isLetThrough(circuit) ? circuit : { ...circuit, trialSinceMs: nowMs };
}

/** A stream has brought its first content. */
export function onContent(circuit: Circuit, nowMs: number): Circuit {
  if (isLetThrough(circuit) || nowMs < circuit.openUntilMs) return circuit;
  return { ...closedCircuit, openings: circuit.openings, isAnswering: true };
}

/** Undefined: there is nothing left to remember. */
export function onSuccess(circuit: Circuit, nowMs: number): Circuit | undefined {
  // What failed before it opened is not held against it once it has shown that it works again.
  const recent = count(circuit.openings > 0 ? closedCircuit.recent : circuit.recent, 0, nowMs);
  if (recent.now.failures + recent.before.failures === 0) return undefined;
  return { ...closedCircuit, recent };
}

export function onFailure(circuit: Circuit, limits: CircuitLimits, nowMs: number): Circuit {
  const failures = circuit.failures + 1;
  const recent = count(circuit.recent, 1, nowMs);
  const isOpening =
    !isLetThrough(circuit) || failures >= limits.consecutiveFailures || isMostlyFailing(recent);
  if (limits.consecutiveFailures === 0 || !isOpening) {
    return { ...circuit, failures, recent, trialSinceMs: undefined };
  }
  // Requests that were under way when it opened must not make it open for longer and longer.
  if (nowMs < circuit.openUntilMs) return { ...circuit, failures, recent };
  const openForMs = Math.min(limits.openForMs * 2 ** circuit.openings, limits.maxOpenMs);
  return {
    failures,
    openings: circuit.openings + 1,
    openUntilMs: nowMs + openForMs,
    trialSinceMs: undefined,
    isAnswering: false,
    recent,
  };
}

function isLetThrough({ openings, isAnswering }: Circuit): boolean {
  return openings === 0 || isAnswering;
}

function isMostlyFailing({ now, before }: Recent): boolean {
  const calls = now.calls + before.calls;
  return calls >= share.callsMin && now.failures + before.failures >= calls * share.ofFailures;
}

/** Two halves of the window: the older one is forgotten as a whole. */
function count(recent: Recent, failures: 0 | 1, nowMs: number): Recent {
  const halfMs = share.windowMs / 2;
  const age = nowMs - recent.sinceMs;
  const rolled: Recent =
    age < halfMs ? recent : { now: noCalls, before: age < 2 * halfMs ? recent.now : noCalls, sinceMs: nowMs };
  return {
    ...rolled,
    now: { calls: rolled.now.calls + 1, failures: rolled.now.failures + failures },
  };
}
