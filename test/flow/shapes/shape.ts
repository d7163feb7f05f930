// What is a shape: what a provider does, what is asked of it, and what has to hold of a run of it?

import { type Call, type Script, sixtyWords } from '../../support/wall.ts';

/** How the times of the table are played. */
export interface Timing {
  /** A time as it passes: pauses of providers, timers of the gateway. */
  own(ms: number): number;
  /** A bound on how long something may take. */
  limit(ms: number): number;
  /** A silence that must end before the limits of a wait. */
  silence(ms: number): number;
  /**
   * Requests beyond those of a row of them. A trial that falls into the last moment of an outage is followed by the next one
   * 25 s later, after the last of twenty requests, and moments are long where everything is played fast.
   */
  readonly moreRequests: number;
}

export const fullTiming: Timing = { own: same, limit: same, silence: same, moreRequests: 0 };

/** Everything in a twentieth of its time; bounds leave room for a machine that has much else to do. */
export const fastTiming: Timing = {
  own: (ms) => ms / 20,
  limit: (ms) => ms / 20 + 20_000,
  silence: (ms) => ms / 20 + 60_000,
  moreRequests: 3,
};

function same(ms: number): number {
  return ms;
}

export type ShapeMode = 'streaming' | 'plain' | 'assured';

/** `safe`: no answer, but a clear error in time. */
export type Verdict = 'pass' | 'partial' | 'safe' | 'fail';

/** One request, as its caller saw it. */
export interface AskedOnce {
  /** `error`: in the words of its dialect. `unclear`: no answer, and no word of why. `cut`: taken for a good answer, and it is not whole. */
  readonly result: 'whole' | 'error' | 'unclear' | 'cut' | 'hang';
  readonly durationMs: number;
  readonly endedAtMs: number;
  readonly model: string | undefined;
  readonly usage: { readonly input: number; readonly output: number } | undefined;
  readonly errorCode: string | undefined;
}

export interface ShapeRun {
  readonly timing: Timing;
  readonly begunAtMs: number;
  readonly asked: readonly AskedOnce[];
  readonly firstCalls: readonly Call[];
  readonly fallbackCalls: readonly Call[];
  readonly isHealthyAfter: boolean;
}

export interface Check {
  readonly what: string;
  readonly holds: (run: ShapeRun) => boolean;
}

export interface Shape {
  readonly id: string;
  /** What the first provider does. */
  readonly what: string;
  /** `begunAtMs`: clock time at which the shape begins, as of `performance.now()`. */
  readonly first: (timing: Timing, begunAtMs: number) => Script;
  /** What the provider behind it does; left out: it answers. */
  readonly fallback?: Script;
  /** What the caller is to get at best. */
  readonly ideal: 'answer' | 'error';
  /** The timer of the gateway that the shape is about: a fast run shortens it, and no other, which a slow machine could reach. */
  readonly timer?: 'firstEventMs' | 'livenessMs';
  /** More than one request, so far apart. */
  readonly requests?: { readonly count: number; readonly everyMs: number };
  /** A request that takes longer hangs. */
  readonly limitMs: number;
  readonly required: readonly Check[];
  readonly advisory: readonly Check[];
}

/** One token each 15 ms, at full length. */
export function healthy(timing: Timing): { text: string; betweenEvents: { ms: number } } {
  return { text: sixtyWords, betweenEvents: { ms: Math.max(1, timing.own(15)) } };
}
