// May a key be used that its provider refused? The cooldown as plain decisions: its length, and the trial call after it.

/** Why a key is in cooldown: rate limits pass by themselves, the other reasons need a person. */
export type CooldownReason = 'rate-limit' | 'out-of-money' | 'rejected';

export interface Cooldown {
  readonly untilMs: number;
  readonly reason: CooldownReason;
  /** When the one attempt began that is to show whether the key works again. */
  readonly trialSinceMs?: number | undefined;
  /** Shorter than the provider asked for, or by our own rule. After it no trial call is needed. */
  readonly short?: ShortCooldown;
}

interface ShortCooldown {
  readonly sinceMs: number;
  /** Refusals that count: each one doubles the time. */
  readonly refusals: number;
  /** Callers that were refused. */
  readonly callers: readonly string[];
}

/** The refusal that one attempt got. */
export interface Refusal {
  readonly reason: CooldownReason;
  /** The wait that the provider asks for, or ours where it asks for none. */
  readonly forMs: number;
  /** It was asked to wait for nothing: `forMs` is the longest that our own rule comes to. */
  readonly isOwnRule: boolean;
  readonly caller: string;
  readonly startedAtMs: number;
  /** When another caller was last answered by what was refused. */
  readonly othersAtMs: number;
}

/** `due`: the cooldown is over, and the next attempt shows whether the key works again; `on-trial`: that attempt is in flight. */
type CooldownPhase = 'cooling-down' | 'due' | 'on-trial' | 'over';

/**
 * A provider refuses a key at once: an attempt that has lasted this long was accepted. And a rate limit that was over for that
 * long says nothing any more.
 */
const refusalPatienceMs = 5_000;

/** A refusal is hardly news about a key that has answered others this lately. */
const othersWithinMs = 1_000;
const shortestMs = 1_000;
/** How long a short cooldown is remembered after its end, so that the next one can be longer. */
const shortMemoryMs = 30_000;
const callersMax = 8;

export function phaseOfCooldown(
  { untilMs, reason, trialSinceMs, short }: Cooldown,
  nowMs: number,
): CooldownPhase {
  if (nowMs < untilMs) return 'cooling-down';
  if (short !== undefined) return 'over';
  if (trialSinceMs !== undefined) return nowMs - trialSinceMs < refusalPatienceMs ? 'on-trial' : 'over';
  return reason === 'rate-limit' && nowMs - untilMs >= refusalPatienceMs ? 'over' : 'due';
}

/** Whether the next refusal counts as the first one. */
export function isForgotten(cooldown: Cooldown, nowMs: number): boolean {
  if (phaseOfCooldown(cooldown, nowMs) !== 'over') return false;
  return cooldown.short === undefined || nowMs - cooldown.untilMs >= shortMemoryMs;
}

/** The cooldown after a refusal. */
export function cooldownAfter(cooldown: Cooldown | undefined, refusal: Refusal, nowMs: number): Cooldown {
  const { reason, forMs, isOwnRule } = refusal;
  const isDoubtful = hasJustAnsweredOthers(cooldown, refusal, nowMs);
  const isShort = reason === 'rate-limit' && (isOwnRule || isDoubtful);
  const next = isShort
    ? shortCooldown(cooldown, refusal, isDoubtful, nowMs)
    : ({ untilMs: nowMs + forMs, reason } satisfies Cooldown);
  return longerCooldown(cooldown, next, nowMs);
}

/** No call is answered during a short cooldown: answers just before it count. */
function hasJustAnsweredOthers(
  cooldown: Cooldown | undefined,
  { othersAtMs }: Refusal,
  nowMs: number,
): boolean {
  const isJust = (atMs: number): boolean => othersAtMs <= atMs && atMs - othersAtMs < othersWithinMs;
  if (isJust(nowMs)) return true;
  return (
    cooldown?.short !== undefined &&
    nowMs - cooldown.untilMs < refusalPatienceMs &&
    isJust(cooldown.short.sinceMs)
  );
}

function shortCooldown(
  cooldown: Cooldown | undefined,
  { reason, forMs, caller, startedAtMs }: Refusal,
  isDoubtful: boolean,
  nowMs: number,
): Cooldown {
  const { sinceMs, refusals, callers }: ShortCooldown = cooldown?.short ?? {
    sinceMs: nowMs,
    refusals: 0,
    callers: [],
  };
  const isKnown = callers.includes(caller);
  // One caller, where others are answered, says the same again and again.
  const isNews = !isKnown || (!isDoubtful && startedAtMs > sinceMs);
  const short: ShortCooldown = {
    sinceMs: cooldown !== undefined && nowMs < cooldown.untilMs ? sinceMs : nowMs,
    refusals: refusals + (isNews ? 1 : 0),
    callers: isKnown ? callers : [...callers, caller].slice(-callersMax),
  };
  return { untilMs: nowMs + Math.min(forMs, shortestMs * 2 ** (short.refusals - 1)), reason, short };
}

const strength = { 'rate-limit': 0, 'out-of-money': 1, rejected: 2 } as const satisfies Record<
  CooldownReason,
  number
>;

/** Refusals of concurrent calls each count: a later one does not shorten the cooldown of another. */
function longerCooldown(cooldown: Cooldown | undefined, next: Cooldown, nowMs: number): Cooldown {
  if (cooldown === undefined || phaseOfCooldown(cooldown, nowMs) !== 'cooling-down') return next;
  const further = {
    untilMs: Math.max(cooldown.untilMs, next.untilMs),
    reason: strength[next.reason] < strength[cooldown.reason] ? cooldown.reason : next.reason,
  };
  return cooldown.short && next.short ? { ...further, short: next.short } : further;
}
