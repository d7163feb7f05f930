// When is an upstream too slow? Pure: the times so far come in, the next deadline comes out.

export interface Limits {
  /** Until the first content event of a stream; null for plain answers: a provider sends nothing until it is done. */
  readonly firstEventMs: number | null;
  /** Without any byte, after the first content. */
  readonly livenessMs: number;
  /** With bytes but without content or a step towards it, after the first content. */
  readonly progressMs: number;
  /** All of one attempt; another one may have more of the time that the request has. */
  readonly totalMs: number;
}

/** Clock times in milliseconds. */
export interface Marks {
  readonly startedAt: number;
  readonly lastByteAt: number;
  /** Or the last step towards some, or the last finish reason. */
  readonly lastContentAt: number;
  readonly hasContent: boolean;
  /** Everything has come but the counts and the end mark. */
  readonly awaitsEnd: boolean;
  /** The upstream is held back because the client reads slowly: its silence is ours. */
  readonly isPaused: boolean;
  /** End of the one deadline of the whole request. */
  readonly totalAt: number;
}

export type TimerName = 'first-event' | 'liveness' | 'progress' | 'total';

export interface Deadline {
  readonly at: number;
  readonly timer: TimerName;
}

/** How long usage and end mark may take after the last finish reason, and between each other. */
const endMs = 5_000;

/** The same where other bytes, as pings, keep arriving: the client has everything but the counts and the end mark. */
const endAmidPingsMs = 2 * endMs;

export function earliestDeadline(marks: Marks, limits: Limits): Deadline {
  const end: Deadline = { at: Math.min(marks.totalAt, marks.startedAt + limits.totalMs), timer: 'total' };
  if (limits.firstEventMs === null || marks.isPaused) return end;
  // Some answers are whole without any content.
  if (!marks.hasContent && !marks.awaitsEnd) {
    return sooner(end, marks.startedAt + limits.firstEventMs, 'first-event');
  }
  const silenceMs = marks.awaitsEnd ? Math.min(endMs, limits.livenessMs) : limits.livenessMs;
  const progressMs = marks.awaitsEnd ? Math.min(endAmidPingsMs, limits.progressMs) : limits.progressMs;
  const silent = sooner(end, marks.lastByteAt + silenceMs, 'liveness');
  return sooner(silent, marks.lastContentAt + progressMs, 'progress');
}

function sooner(deadline: Deadline, at: number, timer: TimerName): Deadline {
  return at < deadline.at ? { at, timer } : deadline;
}
