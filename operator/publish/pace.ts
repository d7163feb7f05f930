// When is the next table published? Soon after the first change, so that one `kubectl apply` is felt at once;
// later while changes keep coming, so that a thousand of them are one table. Pure: times in, a time out.

/** Milliseconds of one clock throughout. */
export interface Pace {
  /** Changes that no publish has taken up yet. */
  readonly waiting?: {
    readonly firstMs: number;
    readonly lastMs: number;
    readonly afterQuiet: boolean;
    /** The first that takes access away. */
    readonly urgentMs?: number;
  };
  readonly lastChangeMs?: number;
  /** Of those that took access away. */
  readonly lastUrgentMs?: number;
}

/** A change after so long without one is felt at once: twice a second, as with keys that are taken away. */
const QUIET_MS = 500;
const FIRST_WAIT_MS = 50;
const CHURN_WAIT_MS = 250;
const CHURN_WAIT_MS_MAX = 1_000;
/** In 100 ms the pointer has to say so, and compile and writes need the most of them. */
const URGENT_WAIT_MS = 10;
/** Not more often than twice a second, however many keys are taken away one by one. */
const URGENT_INTERVAL_MS = 500;

export const RESTING: Pace = {};

export function noteChange(pace: Pace, nowMs: number, isUrgent: boolean): Pace {
  const { waiting, lastChangeMs } = pace;
  const urgentMs = waiting?.urgentMs ?? (isUrgent ? nowMs : undefined);
  return {
    ...pace,
    lastChangeMs: nowMs,
    waiting: {
      firstMs: waiting?.firstMs ?? nowMs,
      lastMs: nowMs,
      afterQuiet: waiting?.afterQuiet ?? (lastChangeMs === undefined || nowMs - lastChangeMs >= QUIET_MS),
      ...(urgentMs === undefined ? {} : { urgentMs }),
    },
  };
}

/** A publish begins now and takes up all that waits; one that fails notes its change again. */
export function notePublish({ waiting, ...pace }: Pace, nowMs: number): Pace {
  return waiting?.urgentMs === undefined ? pace : { ...pace, lastUrgentMs: nowMs };
}

/** The time for the next publish; undefined while nothing waits. */
export function dueMs({ waiting, lastUrgentMs = Number.NEGATIVE_INFINITY }: Pace): number | undefined {
  if (waiting === undefined) return undefined;
  const { firstMs, lastMs, afterQuiet, urgentMs } = waiting;
  const usualMs = afterQuiet
    ? firstMs + FIRST_WAIT_MS
    : Math.min(lastMs + CHURN_WAIT_MS, firstMs + CHURN_WAIT_MS_MAX);
  if (urgentMs === undefined) return usualMs;
  return Math.min(usualMs, Math.max(urgentMs + URGENT_WAIT_MS, lastUrgentMs + URGENT_INTERVAL_MS));
}
