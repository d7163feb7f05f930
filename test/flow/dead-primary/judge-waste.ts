// How much did one gateway waste on an upstream that only fails? Pure: the calls as the upstream saw them.

interface FailedCall {
  readonly startedAtMs: number;
  /** Undefined where it is still in flight. */
  readonly endedAtMs: number | undefined;
}

export interface Waste {
  /** Until the breaker should have opened: as many as it takes, and those that were in flight by then. */
  readonly untilOpen: number;
  /** Of which in flight. */
  readonly inFlight: number;
  /** Behind that: the probes. */
  readonly probes: number;
  /** The shortest time from a failed call to the probe behind it; undefined where there is none. */
  readonly leastPauseMs: number | undefined;
}

/** What a gateway sends so shortly after a failure may have been in flight before it had heard of it. */
const hearingMs = 50;

export function judgeWaste(
  calls: readonly FailedCall[],
  { consecutiveFailures }: { readonly consecutiveFailures: number },
): Waste {
  const ends = calls.map(({ endedAtMs = Number.POSITIVE_INFINITY }) => endedAtMs).sort((a, b) => a - b);
  const openedMs = (ends[consecutiveFailures - 1] ?? Number.POSITIVE_INFINITY) + hearingMs;
  const early = calls.filter(({ startedAtMs }) => startedAtMs <= openedMs);
  const probes = calls.filter(({ startedAtMs }) => startedAtMs > openedMs);
  const pauses = probes.map(
    ({ startedAtMs }) => startedAtMs - Math.max(...ends.filter((endMs) => endMs < startedAtMs)),
  );
  return {
    untilOpen: early.length,
    inFlight: Math.max(0, early.length - consecutiveFailures),
    probes: probes.length,
    leastPauseMs: pauses.length === 0 ? undefined : Math.min(...pauses),
  };
}
