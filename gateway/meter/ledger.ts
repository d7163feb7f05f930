// One finished attempt to one ledger record: who used what, what it cost, who pays. Pure.

import { costPicodollars, paysForRequest } from '../../core/contract/cost.ts';
import type { LedgerRecord, Usage } from '../../core/contract/ledger-record.ts';
import type { DialectName } from '../../core/contract/routing-table.ts';
import { type Caller, ownsProvider } from '../request/caller.ts';
import type { RouteView, TargetView } from '../table/view.ts';
import type { Counted } from './token-counter.ts';

/** All that a record is made of. */
export interface AttemptFacts {
  readonly requestId: string;
  /** Counts from 1 over the whole request. */
  readonly number: number;
  /** Which of the upstream calls that the request stands for, from 0. */
  readonly call: number;
  readonly tableGeneration: number;
  readonly caller: Caller;
  readonly route: RouteView;
  /** As the caller wrote it. */
  readonly model: string;
  readonly target: TargetView;
  readonly providerKey: string | undefined;
  readonly clientDialect: DialectName;
  readonly upstreamDialect: DialectName;
  readonly isStream: boolean;
  readonly startedAtMs: number;
  readonly durationMs: number;
  readonly firstContentMs: number | undefined;
  readonly outcome: LedgerRecord['outcome'];
  readonly status: number | undefined;
  readonly failure: string | undefined;
  /** What was wrong with its answer, in words. */
  readonly cause?: string | undefined;
  /** The upstream has been given the request, or a part of it. */
  readonly isSent?: boolean | undefined;
  /** The upstream's own counts; undefined where it gave none. */
  readonly usage: Usage | undefined;
  /** They are of its beginning alone: what they say of the output is no count of it. */
  readonly lacksOutput?: boolean | undefined;
  /** Whether the upstream goes on with it by itself; undefined: it has not said. */
  readonly goesOn?: boolean | undefined;
  /** It was asked to. */
  readonly isBackground?: boolean | undefined;
  /** Our own count of what was generated. */
  readonly outputEstimate: number;
  /** Another call of the same request failed before anything of this one was delivered. */
  readonly isWasted?: boolean | undefined;
  /** Tokens of the request sent, by its size; asked only where nobody has counted them. */
  readonly estimateInput: () => number;
  /** The most that it was expected to answer; asked only of what goes on where nobody sees it. */
  readonly outputReserved: () => number;
  /** Counted by us, where the upstream gave no counts; see `token-counter.ts`. */
  readonly counted?: Counted | undefined;
}

export function recordId(requestId: string, number: number): string {
  return `${requestId}.${number}`;
}

export function buildLedgerRecord(facts: AttemptFacts): LedgerRecord {
  const { caller, target, outcome } = facts;
  const { usage, isEstimated } = countUsage(facts);
  const price = target.entry.price;
  const isOwnKey = ownsProvider(caller, target.provider);
  const payer = isOwnKey ? 'own-key' : isWaste(facts) ? 'platform' : 'tenant'; // guard: waste-payer
  return {
    id: recordId(facts.requestId, facts.number),
    request: facts.requestId,
    attempt: facts.number,
    ...(facts.call === 0 ? {} : { call: facts.call }),
    startedAt: new Date(facts.startedAtMs).toISOString(),
    durationMs: Math.round(facts.durationMs),
    firstContentMs: facts.firstContentMs === undefined ? undefined : Math.round(facts.firstContentMs),
    tableGeneration: facts.tableGeneration,
    namespace: caller.namespace,
    apiKey: caller.key.id,
    route: facts.route.entry.id,
    model: facts.route.entry.model,
    ...(facts.model === facts.route.entry.model ? {} : { requestedModel: facts.model }),
    target: target.entry.name,
    provider: target.provider.entry.id,
    providerKey: facts.providerKey,
    upstreamModel: target.entry.upstreamModel,
    clientDialect: facts.clientDialect,
    upstreamDialect: facts.upstreamDialect,
    isStream: facts.isStream,
    outcome,
    status: facts.status,
    failure: facts.failure,
    ...(facts.cause === undefined ? {} : { cause: facts.cause }),
    usage,
    isEstimated,
    ...(isEstimated ? { estimatedBy: facts.counted ? 'tokenizer' : 'characters' } : {}),
    price,
    costPicodollars: costOf(facts, usage, payer),
    payer,
    owner: caller.key.owner,
    metadata: caller.key.metadata,
  };
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
  const isCharged = paysForRequest({ ...facts, payer });
  try {
    return costPicodollars(usage, isCharged ? price : { ...price, perRequest: 0 });
  } catch {
    // Counts that no model could have produced: the record shows them, and no wrong sum is made of them.
    return null;
  }
}

/**
 * Some dialects begin with counts, which say nothing of the output; others tell those so far with each event. Of an answer that did not
 * get to its end, the output told is older than what was seen since. Of one that its upstream goes on with nobody will tell: it is taken to become as long as was reserved for it.
 */
function countUsage(facts: AttemptFacts): { readonly usage: Usage; readonly isEstimated: boolean } {
  const { usage: told, outcome, outputEstimate, lacksOutput = false } = facts;
  if (goesOn(facts)) {
    const usage = told ?? estimateUsage(facts);
    return { usage: { ...usage, output: Math.max(usage.output, facts.outputReserved()) }, isEstimated: true };
  }
  if (!told) return { usage: estimateUsage(facts), isEstimated: true };
  const isAll = outcome === 'answered' || (outcome !== 'interrupted' && told.output >= outputEstimate);
  if (isAll && !lacksOutput) return { usage: told, isEstimated: false };
  return { usage: { ...told, output: Math.max(told.output, outputEstimate) }, isEstimated: true };
}

/**
 * Where the upstream gave no counts: what was seen of the answer, and the size of the request. Nothing for an attempt that failed
 * without a sign of work; one that was cut off by our own end, or by a caller who left, may have been at work: to close the connection
 * does not take back what the upstream has read.
 */
function estimateUsage(facts: AttemptFacts): Usage {
  const { outputEstimate, estimateInput, counted } = facts;
  return {
    input: mayHaveWorked(facts) ? (counted?.input ?? estimateInput()) : 0,
    cachedInput: 0,
    cacheWrite: 0,
    output: counted?.output ?? outputEstimate,
    reasoning: 0,
  };
}

/** Where it has not said so itself, it has to have taken the request. */
function goesOn(facts: AttemptFacts): boolean {
  return facts.goesOn ?? (facts.isBackground === true && mayHaveWorked(facts));
}

function mayHaveWorked({ outcome, outputEstimate, isSent, goesOn, status = 200 }: AttemptFacts): boolean {
  if (goesOn === true) return true;
  if (outcome === 'answered' || outcome === 'interrupted' || outputEstimate > 0) return true;
  // One that has refused it has not.
  return outcome === 'cancelled' && isSent === true && status === 200;
}
