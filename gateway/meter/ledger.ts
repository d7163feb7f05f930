// One finished attempt to one ledger record: who used what, what it cost, who pays. Pure.

import { costPicodollars, paysForRequest } from '../../core/contract/cost.ts';
import type { LedgerRecord, Usage } from '../../core/contract/ledger-record.ts';
import type { DialectName, UpstreamDialectName } from '../../core/contract/routing-table.ts';
import { type Caller, ownsProvider } from '../request/caller.ts';
import type { RouteView, TargetView } from '../table/view.ts';
import type { Counted } from './token-counter.ts';

/** All that a record is made of. */
export interface AttemptFacts {
  readonly requestId: string;
  /** Counts from 1 over the whole request. */
  readonly number: number;
  /** Index of the upstream call among those of the request, from 0. */
  readonly call: number;
  readonly tableGeneration: number;
  readonly caller: Caller;
  readonly route: RouteView;
  /** As the caller wrote it. */
  readonly model: string;
  readonly target: TargetView;
  readonly providerKey: string | undefined;
  readonly clientDialect: DialectName;
  readonly upstreamDialect: UpstreamDialectName;
  readonly isStream: boolean;
  readonly startedAtMs: number;
  readonly durationMs: number;
  readonly firstContentMs: number | undefined;
  readonly outcome: LedgerRecord['outcome'];
  readonly status: number | undefined;
  readonly failure: string | undefined;
  /** The fault of its answer, in words. */
  readonly cause?: string | undefined;
  /** The upstream has been given the request, or a part of it. */
  readonly isSent?: boolean | undefined;
  /** The upstream's own counts; undefined if it gave none. */
  readonly usage: Usage | undefined;
  /** The counts are from the answer's beginning: their output is only a placeholder. */
  readonly lacksOutput?: boolean | undefined;
  /** Whether the upstream goes on generating after the connection ends; undefined: it has not said so. */
  readonly goesOn?: boolean | undefined;
  /** The caller asked for a background answer. */
  readonly isBackground?: boolean | undefined;
  /** Our own count of what was generated. */
  readonly outputEstimate: number;
  /** Another call of the same request failed before anything of this one was delivered. */
  readonly isWasted?: boolean | undefined;
  /** Input tokens estimated by size; called only if the upstream reported none. */
  estimateInput(): number;
  /** The reserved output; called only if the upstream goes on generating after a cancellation. */
  outputReserved(): number;
  /** Counted by us, where the upstream gave no counts; see `token-counter.ts`. */
  readonly counted?: Counted | undefined;
}

export function recordId(requestId: string, number: number): string {
  return `${requestId}.${number}`;
}

/** The members of its record that counting, limits and settlement need. */
export type RatedAttempt = Pick<
  LedgerRecord,
  | ('provider' | 'upstreamModel' | 'clientDialect' | 'upstreamDialect' | 'isStream')
  | ('outcome' | 'failure' | 'durationMs' | 'firstContentMs')
  | ('usage' | 'isEstimated' | 'costPicodollars' | 'payer')
>;

export function rateAttempt(facts: AttemptFacts): RatedAttempt {
  const { caller, target, firstContentMs } = facts;
  const { usage, isEstimated } = countUsage(facts);
  const isOwnKey = ownsProvider(caller, target.provider);
  const payer = isOwnKey ? 'own-key' : isWaste(facts) ? 'platform' : 'tenant'; // guard: waste-payer
  return {
    provider: target.provider.entry.id,
    upstreamModel: target.entry.upstreamModel,
    clientDialect: facts.clientDialect,
    upstreamDialect: facts.upstreamDialect,
    isStream: facts.isStream,
    outcome: facts.outcome,
    failure: facts.failure,
    durationMs: Math.round(facts.durationMs),
    firstContentMs: firstContentMs === undefined ? undefined : Math.round(firstContentMs),
    usage,
    isEstimated,
    costPicodollars: costOf(facts, usage, payer),
    payer,
  };
}

/** As an object, for the few that want all of it; the journal writes the line at once (ledger-line.ts). */
export function buildLedgerRecord(facts: AttemptFacts, rated = rateAttempt(facts)): LedgerRecord {
  const { caller, target } = facts;
  return {
    id: recordId(facts.requestId, facts.number),
    request: facts.requestId,
    attempt: facts.number,
    ...(facts.call === 0 ? {} : { call: facts.call }),
    startedAt: new Date(facts.startedAtMs).toISOString(),
    durationMs: rated.durationMs,
    firstContentMs: rated.firstContentMs,
    tableGeneration: facts.tableGeneration,
    namespace: caller.namespace,
    apiKey: caller.key.id,
    route: facts.route.entry.id,
    model: facts.route.entry.model,
    ...(facts.model === facts.route.entry.model ? {} : { requestedModel: facts.model }),
    target: target.entry.name,
    provider: rated.provider,
    providerKey: facts.providerKey,
    upstreamModel: rated.upstreamModel,
    clientDialect: rated.clientDialect,
    upstreamDialect: rated.upstreamDialect,
    isStream: rated.isStream,
    outcome: rated.outcome,
    status: facts.status,
    failure: rated.failure,
    ...(facts.cause === undefined ? {} : { cause: facts.cause }),
    usage: rated.usage,
    isEstimated: rated.isEstimated,
    ...(rated.isEstimated ? { estimatedBy: estimatedBy(facts) } : {}),
    price: target.entry.price,
    costPicodollars: rated.costPicodollars,
    payer: rated.payer,
    owner: caller.key.owner,
    metadata: caller.key.metadata,
  };
}

export function estimatedBy({ counted }: Pick<AttemptFacts, 'counted'>): LedgerRecord['estimatedBy'] {
  return counted ? 'tokenizer' : 'characters';
}

/** Nothing of it has reached the caller. */
function isWaste({ outcome, isStream, firstContentMs, isWasted = false }: AttemptFacts): boolean {
  if (outcome === 'interrupted') return !isStream || firstContentMs === undefined;
  return outcome === 'failed' || isWasted;
}

function costOf(facts: AttemptFacts, usage: Usage, payer: LedgerRecord['payer']): number | null {
  // The tenant pays its provider itself.
  if (payer === 'own-key') return 0;
  const { price } = facts.target.entry;
  if (!price) return null;
  try {
    return costPicodollars(usage, price, paysForRequest(facts, payer));
  } catch {
    // Counts that no model could have produced: the record shows them, and no wrong sum is made of them.
    return null;
  }
}

/**
 * Some dialects report usage at the beginning, without the output; others report the output so far with each event. If an answer was cut
 * off, the reported output is older than the content seen since. If the upstream goes on generating after a cancellation, its usage will
 * never be known: the output is taken to reach the reservation.
 */
function countUsage(facts: AttemptFacts): { readonly usage: Usage; readonly isEstimated: boolean } {
  const { usage: reported, outcome, outputEstimate, lacksOutput = false } = facts;
  if (goesOn(facts)) {
    const usage = reported ?? estimateUsage(facts);
    return { usage: { ...usage, output: Math.max(usage.output, facts.outputReserved()) }, isEstimated: true };
  }
  if (!reported) return { usage: estimateUsage(facts), isEstimated: true };
  const isAll = outcome === 'answered' || (outcome !== 'interrupted' && reported.output >= outputEstimate);
  if (isAll && !lacksOutput) return { usage: reported, isEstimated: false };
  return { usage: { ...reported, output: Math.max(reported.output, outputEstimate) }, isEstimated: true };
}

/**
 * Used if the upstream gave no counts: from the content seen, and the size of the request. Zero for an attempt that failed
 * without a sign of work. An attempt that we or the caller cut off may have been at work: closing a connection does
 * not take back a request that the upstream has read.
 */
function estimateUsage(facts: AttemptFacts): Usage {
  const { outputEstimate, counted } = facts;
  return {
    input: mayHaveWorked(facts) ? (counted?.input ?? facts.estimateInput()) : 0,
    cachedInput: 0,
    cacheWrite: 0,
    output: counted?.output ?? outputEstimate,
    reasoning: 0,
  };
}

/** If the upstream has not said so, it must at least have accepted the request. */
function goesOn(facts: AttemptFacts): boolean {
  return facts.goesOn ?? (facts.isBackground === true && mayHaveWorked(facts));
}

function mayHaveWorked({ outcome, outputEstimate, isSent, goesOn, status = 200 }: AttemptFacts): boolean {
  if (goesOn === true) return true;
  if (outcome === 'answered' || outcome === 'interrupted' || outputEstimate > 0) return true;
  // An upstream that refused the request did not work.
  return outcome === 'cancelled' && isSent === true && status === 200;
}
