// Is this upstream worth a request now? A circuit breaker as a pure state machine:
//
//   closed --n failures in a row--> open --time is up--> half-open --success--> closed
//                                    ^                       |
//                                    +--------failure--------+   (open for twice as long)

export interface CircuitLimits {
  /** 0: the circuit never opens. */
  readonly consecutiveFailures: number;
  readonly openForMs: number;
  readonly maxOpenMs: number;
}

export interface Circuit {
  readonly failures: number;
  /** How often it has opened without a success in between. */
  readonly openings: number;
  readonly openUntilMs: number;
  /** When the one trial of a half-open circuit began; a trial that never reports is given up. */
  readonly trialSinceMs: number | undefined;
}

export const closedCircuit: Circuit = { failures: 0, openings: 0, openUntilMs: 0, trialSinceMs: undefined };

const trialPatienceMs = 60_000;

/** One request at a time is let through when the open time is up. */
export function mayTry(circuit: Circuit, nowMs: number): boolean {
  if (circuit.openings === 0) return true;
  if (nowMs < circuit.openUntilMs) return false;
  return circuit.trialSinceMs === undefined || nowMs - circuit.trialSinceMs > trialPatienceMs;
}

export function onTried(circuit: Circuit, nowMs: number): Circuit {
  return circuit.openings === 0 ? circuit : { ...circuit, trialSinceMs: nowMs };
}

export function onFailure(circuit: Circuit, limits: CircuitLimits, nowMs: number): Circuit {
  const failures = circuit.failures + 1;
  const isOpening = circuit.openings > 0 || failures >= limits.consecutiveFailures;
  if (limits.consecutiveFailures === 0 || !isOpening)
    return { ...circuit, failures, trialSinceMs: undefined };
  // Requests that were under way when it opened must not make it open for longer and longer.
  if (nowMs < circuit.openUntilMs) return { ...circuit, failures };
  const openForMs = Math.min(limits.openForMs * 2 ** circuit.openings, limits.maxOpenMs);
  return {
    failures,
    openings: circuit.openings + 1,
    openUntilMs: nowMs + openForMs,
    trialSinceMs: undefined,
  };
}
