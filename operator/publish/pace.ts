// When is the next table published? Soon after the first change, so that one `kubectl apply` takes effect at once; later during a
// series of new keys, so that a thousand of them make one table. Pure.

import type { Urgency } from '../watch/urgency.ts';

/** Milliseconds of one clock throughout. */
export interface Pace {
  /** Changes that no publish has taken up yet. */
  readonly waiting?: {
    readonly firstMs: number;
    readonly lastMs: number;
    readonly afterQuiet: boolean;
    /** The first change that a user waits for. */
    readonly editMs?: number;
    /** The first that takes access away. */
    readonly revocationMs?: number;
  };
  readonly lastChangeMs?: number;
  readonly lastPublishMs?: number;
  /** Time of the last publish that took access away. */
  readonly lastRevocationMs?: number;
}

/** A change after so long without one is felt at once: twice a second, as with keys that are taken away. */
const QUIET_MS = 500;
const FIRST_WAIT_MS = 50;
const CHURN_WAIT_MS = 250;
const CHURN_WAIT_MS_MAX = 1_000;
/** The pointer must show a revocation within 100 ms, and compile and writes need most of that. */
const REVOCATION_WAIT_MS = 10;
/** Not more often than twice a second, however many edits there are, or keys that are taken away one by one. */
const PROMPT_INTERVAL_MS = 500;

export const RESTING: Pace = {};

export function noteChange(pace: Pace, nowMs: number, urgency: Urgency): Pace {
  const { waiting, lastChangeMs } = pace;
  const editMs = waiting?.editMs ?? (urgency === 'edit' ? nowMs : undefined);
  const revocationMs = waiting?.revocationMs ?? (urgency === 'revocation' ? nowMs : undefined);
  return {
    ...pace,
    lastChangeMs: nowMs,
    waiting: {
      firstMs: waiting?.firstMs ?? nowMs,
      lastMs: nowMs,
      afterQuiet: waiting?.afterQuiet ?? (lastChangeMs === undefined || nowMs - lastChangeMs >= QUIET_MS),
      ...(editMs === undefined ? {} : { editMs }),
      ...(revocationMs === undefined ? {} : { revocationMs }),
    },
  };
}

/** A publish begins now and takes up all that waits; one that fails notes its change again. */
export function notePublish({ waiting, ...pace }: Pace, nowMs: number): Pace {
  const next = { ...pace, lastPublishMs: nowMs };
  return waiting?.revocationMs === undefined ? next : { ...next, lastRevocationMs: nowMs };
}

/** The time for the next publish; undefined while nothing waits. */
export function dueMs({ waiting, lastPublishMs, lastRevocationMs }: Pace): number | undefined {
  if (waiting === undefined) return undefined;
  const { firstMs, lastMs, afterQuiet, editMs, revocationMs } = waiting;
  return Math.min(
    afterQuiet ? firstMs + FIRST_WAIT_MS : Math.min(lastMs + CHURN_WAIT_MS, firstMs + CHURN_WAIT_MS_MAX),
    promptMs(FIRST_WAIT_MS, editMs, lastPublishMs),
    promptMs(REVOCATION_WAIT_MS, revocationMs, lastRevocationMs),
  );
}

function promptMs(
  waitMs: number,
  sinceMs = Number.POSITIVE_INFINITY,
  lastMs = Number.NEGATIVE_INFINITY,
): number {
  return Math.max(sinceMs + waitMs, lastMs + PROMPT_INTERVAL_MS);
}
