// How much work may be in flight? Pure: measurements in, the bound on requests in flight out.
//
// The processor is the one thing that all requests share, and its queue is the event loop: arrivals wait for the current turn
// to end. Requests in flight say nothing by themselves, since most of them wait for an upstream. So nothing is bounded
// while turns are short, or while the loop finds time to wait: then its queue was empty, and a neighbour took the processor. Where
// turns stay long and nothing waits, what runs by then is too much, and the bound is set below it; from there it rises slowly for as
// long as all is well. Running work is never touched: only new work is refused.

export interface LoadReading {
  /** Mean length of the turns of the event loop since the last look, without its waiting. */
  readonly turnMs: number;
  /** The part of the time since the last look that the event loop did not wait. */
  readonly busyShare: number;
  /** Delay of the event loop: the 99th percentile of the last window, given once, when the window ends. */
  readonly loopDelayMs: number | undefined;
  /** Memory in use, as a part of its limit: of the heap alone, or with what lies beside it, whichever is nearer. */
  readonly heapShare: number;
  readonly inFlight: number;
  /** How long ago the last look was, in looks: a turn may be longer than the time between two. */
  readonly looks: number;
}

export interface LoadBounds {
  /** Requests in flight, whatever is measured. */
  readonly inFlightMax: number;
  /** Turns of the event loop that are longer than this for several looks in a row are too long. */
  readonly turnMaxMs: number;
  readonly loopDelayMaxMs: number;
  /** From here on new requests are refused. */
  readonly heapShareMax: number;
  /** From here on connections are, too. */
  readonly heapShareCloses: number;
}

export const shedReasons = ['heap', 'event_loop', 'in_flight', 'body_bytes'] as const;
export type ShedReason = (typeof shedReasons)[number];

export interface LoadVerdict {
  /** Requests that may be in flight; 0: nothing new. */
  readonly inFlightMax: number;
  /** Why a request over that bound is refused; `in_flight`: nothing is wrong but their number. */
  readonly reason: Exclude<ShedReason, 'body_bytes'>;
  /** Whether new connections are taken. */
  readonly accepts: boolean;
  /** For how many looks turns have been long. */
  readonly longLooks: number;
}

/** An event loop that is busy for less of its time has caught up with all there was. */
const busyShareMin = 0.95;

/** An overload of a moment, such as the first seconds of a cold process, refuses no request. */
const longLooksMax = { unbounded: 5, bounded: 2 };

/** After each look the bound shrinks to a part between these: the longer the turns, the smaller. */
const stepDown = { most: 0.75, least: 0.95 };

/** The bound becomes so much larger with each look: it doubles within two seconds. */
const stepUp = 1.04;

/** This many are always admitted: too few to be the cause of long turns. */
const inFlightMin = 64;

/** After a refusal, requests are admitted again only this far below the limit, so that the two do not alternate. */
const heapRelief = 0.05;

export function calm(bounds: LoadBounds): LoadVerdict {
  return { inFlightMax: bounds.inFlightMax, reason: 'in_flight', accepts: true, longLooks: 0 };
}

export function judgeLoad(before: LoadVerdict, reading: LoadReading, bounds: LoadBounds): LoadVerdict {
  const { heapShare } = reading;
  // guard: heap-share
  if (heapShare >= bounds.heapShareMax - (before.reason === 'heap' ? heapRelief : 0)) {
    const closesAt = bounds.heapShareCloses - (before.accepts ? 0 : heapRelief);
    return { inFlightMax: 0, reason: 'heap', accepts: heapShare < closesAt, longLooks: 0 };
  }
  return judgeLoop(before, reading, bounds);
}

function judgeLoop(before: LoadVerdict, reading: LoadReading, bounds: LoadBounds): LoadVerdict {
  const { inFlight, looks, turnMs, loopDelayMs = 0 } = reading;
  const isBusy = reading.busyShare >= busyShareMin;
  const longLooks = isBusy && turnMs > bounds.turnMaxMs ? before.longLooks + looks : 0;
  const isBounded = before.reason === 'event_loop';
  const isStalled = isBusy && loopDelayMs > bounds.loopDelayMaxMs;
  const isLate = isStalled || longLooks >= longLooksMax[isBounded ? 'bounded' : 'unbounded'];
  // After a full heap nothing was admitted: the requests in flight are the starting point.
  const last = before.reason === 'heap' ? inFlight : before.inFlightMax;
  if (!isLate) {
    const next = Math.ceil(Math.max(inFlightMin, last) * stepUp);
    return next >= bounds.inFlightMax
      ? { ...calm(bounds), longLooks }
      : { inFlightMax: next, reason: 'event_loop', accepts: true, longLooks };
  }
  // Long streams leave late: a bound that has not been reached yet is not lowered again.
  const isReached = !isBounded || inFlight <= last;
  const fits = Math.min(bounds.turnMaxMs / turnMs, bounds.loopDelayMaxMs / loopDelayMs);
  const part = Math.min(stepDown.least, Math.max(stepDown.most ** looks, Math.sqrt(fits)));
  const next = isReached ? Math.max(inFlightMin, Math.floor(Math.min(last, inFlight) * part)) : last;
  return { inFlightMax: next, reason: 'event_loop', accepts: true, longLooks };
}

/** A turn that takes longer makes callers wait, though not yet so long that anybody is refused. */
const busyTurnMs = 20;

/** Whether long answers are read in turn. That shortens turns, and continues until the event loop is idle for a moment. */
export function judgeBusy(wasBusy: boolean, { turnMs, busyShare }: LoadReading): boolean {
  return busyShare >= busyShareMin && (wasBusy || turnMs > busyTurnMs);
}
