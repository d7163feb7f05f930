// Has a drill passed, and if not, what has to be changed? Pure: what happened comes in, the words for the owner come out.

import type { DrillFault, DrillOutcome } from '../../core/contract/exchange.ts';
import type { LedgerRecord } from '../../core/contract/ledger-record.ts';
import type { RetryReason, RouteEntry } from '../../core/contract/routing-table.ts';

export interface DrillFacts {
  readonly fault: DrillFault;
  readonly takeoverWithinMs: number;
  readonly failover: RouteEntry['failover'];
  /** Name of the target at fault. */
  readonly faulty: string;
  /** How many keys it has: each can be an attempt. */
  readonly keysOfFaulty: number;
  /** Names of the other targets that the request could go to. */
  readonly others: ReadonlySet<string>;
  /** Names of those that the request could not go to. */
  readonly leftOut: readonly string[];
  /** How long a request waits for the target at fault while another target is left. */
  readonly firstEventMs: number | undefined;
  /** In their order. */
  readonly attempts: readonly Pick<LedgerRecord, 'target' | 'outcome'>[];
  /** From the fault to the first content; undefined without an answer. */
  readonly takeoverMs: number | undefined;
  /** The error message that the caller got, if nothing was sent before it. */
  readonly refusal: string | undefined;
}

type Verdict = Omit<DrillOutcome, 'id'>;

/** The reason in `failover.retryOn` that covers the failure. */
const reasonOf: Readonly<Record<DrillFault, RetryReason>> = {
  ServerError: 'ServerError',
  RateLimited: 'RateLimited',
  Hang: 'Timeout',
  Reset: 'ConnectFailure',
  // It breaks before any content as far as the caller is concerned, or there is nothing to move on.
  CutStream: 'ServerError',
};

export function judgeDrill(facts: DrillFacts): Verdict {
  const { attempts, faulty, takeoverMs, takeoverWithinMs } = facts;
  const last = attempts.at(-1);
  if (last?.outcome !== 'answered' || takeoverMs === undefined) return failed(whyNobody(facts));
  const measured = { servedBy: last.target, takeoverMs };
  const within = `${inWords(takeoverMs)} after target ${faulty} failed`;
  if (takeoverMs > takeoverWithinMs) {
    return failed(
      `target ${last.target} answered ${within}, and takeoverWithin is ${inWords(takeoverWithinMs)}: ${whySlow(facts)}, or raise takeoverWithin`,
      measured,
    );
  }
  return { isPassed: true, ...measured, message: `target ${last.target} answered ${within}` };
}

function whySlow({ fault, faulty, firstEventMs, keysOfFaulty, failover }: DrillFacts): string {
  if (fault === 'Hang' && firstEventMs !== undefined) {
    return `the gateway waits for a silent target for timeouts.firstEvent, ${inWords(firstEventMs)} at target ${faulty}; lower it`;
  }
  if (failover.attemptsPerTarget > 1) {
    return `failover.attemptsPerTarget is ${failover.attemptsPerTarget}, with the pauses of failover.backoff; lower one of them`;
  }
  return `each of its ${keysOfFaulty} keys was tried first; use fewer keys`;
}

function whyNobody(facts: DrillFacts): string {
  const { fault, faulty, others, leftOut, failover, attempts, refusal } = facts;
  const { maxAttempts, attemptsPerTarget, retryOn } = failover;
  if (attempts.length === 0) return `no target was tried: ${refusal ?? 'none can be used'}`;
  if (attempts.at(-1)?.outcome === 'broken-off') {
    return `the answer of target ${faulty} was cut off after its first content had reached the caller, and failover ends there; set delivery: Assured, or raise holdBack`;
  }
  if (others.size === 0) {
    const why =
      leftOut.length === 0
        ? 'add a second target; one that is drained, or whose Provider is not ready, does not count'
        : `${named(leftOut)} has no weight or no key in use, or cannot carry the request; restore it, or add another`;
    return `target ${faulty} is the only target in use: ${why}`;
  }
  const reason = reasonOf[fault];
  if (!retryOn.includes(reason)) {
    return `failover.retryOn lacks ${reason}, so a call that fails with ${fault} stays at target ${faulty}; add it`;
  }
  if (maxAttempts === 1)
    return `failover.maxAttempts is 1, so nothing is tried after target ${faulty}; make it 2 or more`;
  const atFaulty = attempts.filter(({ target }) => target === faulty).length;
  if (atFaulty >= maxAttempts) {
    return `all ${maxAttempts} attempts of failover.maxAttempts were made at target ${faulty}: failover.attemptsPerTarget is ${attemptsPerTarget}; raise maxAttempts above that`;
  }
  return `no other target answered after target ${faulty} failed, in ${attempts.length} attempts: ${refusal ?? 'no reason is known'}`;
}

function failed(message: string, measured: Pick<Verdict, 'servedBy' | 'takeoverMs'> = {}): Verdict {
  return { isPassed: false, ...measured, message: message.slice(0, 1_000) };
}

function named(targets: readonly string[]): string {
  return `${targets.length === 1 ? 'target' : 'targets'} ${targets.join(', ')}`;
}

/** `340 ms`, `12 s`, `1.5 s`. */
function inWords(ms: number): string {
  return ms < 1_000 ? `${ms} ms` : `${Math.round(ms / 100) / 10} s`;
}
