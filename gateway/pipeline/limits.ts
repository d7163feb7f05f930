// May this request pass, and may this attempt? Which limits concern them, what the caller is told of them, and what they are settled
// with in the end.

import type { LedgerRecord } from '../../core/contract/ledger-record.ts';
import type { RateLimits } from '../../core/contract/routing-table.ts';
import type { Outcome } from '../limits/outcome.ts';
import type { Subject, SubjectKind, Wanted } from '../limits/subject.ts';
import {
  limitHeaders,
  overBudgetError,
  refusalError,
  tooLargeError,
  unavailableError,
} from '../limits/tell.ts';
import type { GatewayError } from '../request/errors.ts';
import type { Candidate } from '../route/plan.ts';
import { budgetSubjects, costAtMost } from './budgets.ts';
import type { SpendEstimate } from './estimate-spend.ts';
import { type PipelineParts, type RoutedExchange, timeoutFor } from './parts.ts';

export type Granted = Extract<Outcome, { readonly type: 'granted' }>;

type LimitedExchange = Pick<RoutedExchange, 'caller' | 'view' | 'plan' | 'dialect' | 'response'>;

/** Of whom something is asked, and what. */
interface LimitsAsked {
  readonly subjects: readonly Subject[];
  readonly wanted: Wanted;
}

/** What a request that takes a place may use; one that takes none costs nothing. */
type Estimate = { readonly takesPlace: false } | ({ readonly takesPlace: true } & SpendEstimate);

/**
 * Asks the limits of the ApiKey, of its namespace and of the ModelRoute, and the budgets that the request is paid from, and puts how
 * limits stand into the head of the answer. Undefined at once where nothing of them concerns it.
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
  const asked = limitsOfRequest(exchange, estimate);
  const outcome = asked && parts.limits.reserve(asked.subjects, asked.wanted, lastsMs);
  if (outcome === undefined) return undefined;
  const conclude = (value: Outcome): Granted => concludeRequest(parts, exchange, value);
  return outcome instanceof Promise ? outcome.then(conclude) : conclude(outcome);
}

/** Undefined where neither ApiKey, namespace nor ModelRoute has a limit, and nobody a budget. */
export function limitsOfRequest(
  exchange: Omit<LimitedExchange, 'response'>,
  estimate: () => Estimate,
): LimitsAsked | undefined {
  const { caller, plan, view } = exchange;
  const { key, namespace } = caller;
  const { entry } = plan.route;
  const ofTenant = view.tenantLimits.get(namespace);
  const payers = budgetSubjects(exchange);
  const isLimited = (key.limits ?? ofTenant ?? entry.limits) !== undefined;
  if (!isLimited && payers.length === 0) return undefined;
  const subjects = [
    ...subjectFor('api-key', key.id, key.limits),
    ...subjectFor('tenant', namespace, ofTenant),
    ...subjectFor('model-route', entry.id, entry.limits),
    ...payers,
  ];
  const spend = estimate();
  const cost = (tokens: Parameters<typeof costAtMost>[2]): number =>
    payers.length === 0 ? 0 : costAtMost(exchange, plan, tokens);
  const wanted: Wanted = spend.takesPlace
    ? {
        requests: 1,
        tokens: spend.tokens,
        tokensMin: spend.tokensMin,
        nanodollars: cost({ input: spend.input, output: spend.output }),
        ...(spend.inputMost === undefined ? {} : { nanodollarsMax: cost(spend) }),
        takesPlace: true,
      }
    : { requests: 1, tokens: 0, takesPlace: false };
  return { subjects, wanted };
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
  if (outcome.type === 'granted') return outcome;
  throw limitError(outcome, { plan, dialect });
}

/** What a caller is told that was not let in. */
export function limitError(
  outcome: Exclude<Outcome, { readonly type: 'granted' }>,
  { plan, dialect }: Pick<LimitedExchange, 'plan' | 'dialect'>,
): GatewayError {
  switch (outcome.type) {
    case 'refused':
      return refusalError(outcome, plan.route.entry.model);
    case 'over-budget':
      return overBudgetError(outcome, dialect.errorShape);
    case 'too-large':
      return tooLargeError(outcome, plan.route.entry.model);
    case 'unavailable':
      return unavailableError();
  }
}

/** What an attempt is let in with by the quotas of its provider and of the key; or for how long they are used up, as far as is known. */
export type Entrance =
  | { readonly type: 'open'; readonly granted: Granted | undefined }
  | ({ readonly type: 'full' } & Fullness);

export interface Fullness {
  readonly waitMs: number;
  /** Nobody can say how far they are used up: the store is to be asked, and does not answer. */
  readonly isUnknown: boolean;
}

/** Undefined where neither provider nor key has a limit. */
export function enterAttempt(
  { limits, defaults }: Pick<PipelineParts, 'limits' | 'defaults'>,
  exchange: RoutedExchange,
  candidate: Candidate,
  tokens: () => number,
): Entrance | Promise<Entrance> | undefined {
  const asked = limitsOfAttempt(candidate, tokens);
  if (asked === undefined) return undefined;
  const lastsMs = timeoutFor(exchange, candidate, 'totalMs', defaults);
  const outcome = limits.reserve(asked.subjects, asked.wanted, lastsMs);
  return outcome instanceof Promise ? outcome.then(entranceOf) : outcome && entranceOf(outcome);
}

/** Undefined where neither provider nor key has a limit. */
export function limitsOfAttempt(
  { target: { provider }, endpoint: { key } }: Candidate,
  tokens: () => number,
): LimitsAsked | undefined {
  if (provider.entry.limits === undefined && key?.limits === undefined) return undefined;
  return {
    subjects: [
      ...subjectFor('provider', provider.entry.id, provider.entry.limits),
      ...subjectFor('provider-key', `${provider.entry.id}/${key?.name}`, key?.limits),
    ],
    wanted: { requests: 1, tokens: tokens(), takesPlace: true },
  };
}

function entranceOf(outcome: Outcome): Entrance {
  if (outcome.type === 'granted') return { type: 'open', granted: outcome };
  const fullness = fullnessOf(outcome);
  if (fullness === undefined)
    throw new Error('no attempt asks a budget, or says that it is too large for a quota');
  return { type: 'full', ...fullness };
}

/** Undefined where an attempt is let in, and of what no attempt asks. */
export function fullnessOf(
  outcome: Exclude<Outcome, { readonly type: 'granted' }> | { readonly type: 'granted' },
): Fullness | undefined {
  switch (outcome.type) {
    case 'refused':
      return { waitMs: outcome.waitMs, isUnknown: false };
    case 'unavailable':
      return { waitMs: 0, isUnknown: true };
    default:
      return undefined;
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
