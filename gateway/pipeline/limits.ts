// May this request pass, and may this attempt? Which limits concern them, what the caller is told of them, and what they are settled
// with in the end.

import type { LedgerRecord } from '../contract/ledger-record.ts';
import type { RateLimits } from '../contract/routing-table.ts';
import type { Outcome } from '../limits/outcome.ts';
import type { Subject, SubjectKind, Wanted } from '../limits/subject.ts';
import {
  limitHeaders,
  overBudgetError,
  refusalError,
  tooLargeError,
  unavailableError,
} from '../limits/tell.ts';
import type { Candidate } from '../route/plan.ts';
import { budgetSubjects, costAtMost } from './budgets.ts';
import type { SpendEstimate } from './estimate-spend.ts';
import { type PipelineParts, type RoutedExchange, timeoutFor } from './parts.ts';

export type Granted = Extract<Outcome, { readonly type: 'granted' }>;

type LimitedExchange = Pick<RoutedExchange, 'caller' | 'view' | 'plan' | 'dialect' | 'response'>;

/** What a request that takes a place may use; one that takes none costs nothing. */
type Estimate = { readonly takesPlace: false } | ({ readonly takesPlace: true } & SpendEstimate);

/**
 * Asks the limits of the ApiKey and of the ModelRoute, and the budgets that the request is paid from, and puts how limits stand into the
 * head of the answer. Undefined at once where nothing of them concerns it.
 *
 * @throws {GatewayError} `rate_limit_exceeded`, `insufficient_quota` or `billing_error`; `limits_unavailable` where the store is to be
 * asked and does not answer.
 */
export function enterRequest(
  parts: Pick<PipelineParts, 'limits' | 'clock'>,
  exchange: LimitedExchange,
  estimate: () => Estimate,
  lastsMs: number,
): Granted | Promise<Granted> | undefined {
  const { caller, plan } = exchange;
  const { key } = caller;
  const { entry } = plan.route;
  const payers = budgetSubjects(exchange);
  if (key.limits === undefined && entry.limits === undefined && payers.length === 0) return undefined;
  const subjects = [
    ...subjectFor('api-key', key.id, key.limits),
    ...subjectFor('model-route', entry.id, entry.limits),
    ...payers,
  ];
  const spend = estimate();
  const wanted: Wanted = spend.takesPlace
    ? {
        requests: 1,
        tokens: spend.tokens,
        tokensMin: spend.tokensMin,
        nanodollars: payers.length === 0 ? 0 : costAtMost(exchange, plan, spend),
        takesPlace: true,
      }
    : { requests: 1, tokens: 0, takesPlace: false };
  const outcome = parts.limits.reserve(subjects, wanted, lastsMs);
  if (outcome === undefined) return undefined;
  const conclude = (value: Outcome): Granted => concludeRequest(parts, exchange, value);
  return outcome instanceof Promise ? outcome.then(conclude) : conclude(outcome);
}

function concludeRequest(
  { clock }: Pick<PipelineParts, 'clock'>,
  { plan, dialect, response }: LimitedExchange,
  outcome: Outcome,
): Granted {
  if ('standings' in outcome) {
    for (const [name, value] of limitHeaders(outcome.standings, dialect.errorShape, clock.wallMs())) {
      response.setHeader(name, value);
    }
  }
  switch (outcome.type) {
    case 'granted':
      return outcome;
    case 'refused':
      throw refusalError(outcome, plan.route.entry.model);
    case 'over-budget':
      throw overBudgetError(outcome, dialect.errorShape);
    case 'too-large':
      throw tooLargeError(outcome, plan.route.entry.model);
    case 'unavailable':
      throw unavailableError();
  }
}

/** What an attempt is let in with by the quotas of its provider and of the key; or for how long they are used up. */
export type Entrance =
  | { readonly type: 'open'; readonly granted: Granted | undefined }
  | { readonly type: 'full'; readonly waitMs: number };

/**
 * Undefined where neither provider nor key has a limit.
 *
 * @param calls How many upstream calls share the estimate of the request.
 * @throws {GatewayError} `limits_unavailable` where the store is to be asked and does not answer.
 */
export function enterAttempt(
  { limits, defaults }: Pick<PipelineParts, 'limits' | 'defaults'>,
  exchange: RoutedExchange,
  candidate: Candidate,
  tokens: () => number,
): Entrance | Promise<Entrance> | undefined {
  const { provider } = candidate.target;
  const { key } = candidate.endpoint;
  if (provider.entry.limits === undefined && key?.limits === undefined) return undefined;
  const subjects = [
    ...subjectFor('provider', provider.entry.id, provider.entry.limits),
    ...subjectFor('provider-key', `${provider.entry.id}/${key?.name}`, key?.limits),
  ];
  const wanted = { requests: 1, tokens: tokens(), takesPlace: true };
  const outcome = limits.reserve(subjects, wanted, timeoutFor(exchange, candidate, 'totalMs', defaults));
  return outcome instanceof Promise ? outcome.then(entranceOf) : outcome && entranceOf(outcome);
}

function entranceOf(outcome: Outcome): Entrance {
  switch (outcome.type) {
    case 'granted':
      return { type: 'open', granted: outcome };
    case 'refused':
      return { type: 'full', waitMs: outcome.waitMs };
    case 'over-budget':
    case 'too-large':
      throw new Error('no attempt asks a budget, or says that it is too large for a quota');
    case 'unavailable':
      throw unavailableError();
  }
}

function subjectFor(kind: SubjectKind, id: string, limits: RateLimits | undefined): Subject[] {
  return limits === undefined ? [] : [{ kind, id, limits }];
}

/** Of an attempt, what its caller is held to: what failed before anything was delivered is no use of theirs. */
export function tokensOfCaller({
  outcome,
  payer,
  usage,
}: Pick<LedgerRecord, 'outcome' | 'payer' | 'usage'>): number {
  return outcome === 'failed' || payer === 'platform' ? 0 : usage.input + usage.output;
}
