// May this request pass, and may this attempt? Which limits concern them, what the caller is told of them, and what they are settled
// with in the end.

import type { ServerResponse } from 'node:http';
import type { Budget } from '../../core/contract/budget.ts';
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
import { costAtMost, isPaidFromBudget } from './budgets.ts';
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
 * limits stand into the head of a refusal. Undefined at once where nothing of them concerns it.
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
  const paidByTenant = view.tenantBudgets.get(namespace);
  const isPaid = isPaidFromBudget(exchange);
  if (!isPaid && key.limits === undefined && ofTenant === undefined && entry.limits === undefined)
    return undefined;
  const subjects: Subject[] = [];
  if (key.limits !== undefined || key.budgets !== undefined)
    subjects.push(subjectOf(key, 'api-key', key.id, key.limits, key.budgets));
  const tenant = ofTenant ?? paidByTenant;
  if (tenant !== undefined) subjects.push(subjectOf(tenant, 'tenant', namespace, ofTenant, paidByTenant));
  if (entry.limits !== undefined) subjects.push(subjectOf(entry, 'model-route', entry.id, entry.limits));
  return { subjects, wanted: wantedOf(exchange, estimate(), isPaid) };
}

function wantedOf(exchange: Omit<LimitedExchange, 'response'>, spend: Estimate, isPaid: boolean): Wanted {
  if (!spend.takesPlace) return { requests: 1, tokens: 0, takesPlace: false };
  const { tokens, tokensMin, input, output, inputMost } = spend;
  const { plan } = exchange;
  return {
    requests: 1,
    tokens,
    tokensMin,
    nanodollars: isPaid ? costAtMost(exchange, plan, { input, output }) : 0,
    nanodollarsMax: isPaid && inputMost !== undefined ? costAtMost(exchange, plan, spend) : undefined,
    takesPlace: true,
  };
}

function concludeRequest(
  parts: Pick<PipelineParts, 'clock'>,
  exchange: LimitedExchange,
  outcome: Outcome,
): Granted {
  if (outcome.type === 'granted') return outcome;
  if (outcome.type === 'refused')
    setHeaders(exchange.response, standingHeaders(parts, exchange, outcome.standings));
  throw limitError(outcome, exchange);
}

/** How limits stand, for the head of an answer: names and values in turn. */
export function standingHeaders(
  { clock }: Pick<PipelineParts, 'clock'>,
  { dialect }: Pick<LimitedExchange, 'dialect'>,
  standings: Granted['standings'],
): readonly string[] {
  return limitHeaders(standings, dialect.errorShape, clock.wallMs());
}

/** Into the head of whatever is answered. */
export function setHeaders(response: Pick<ServerResponse, 'setHeader'>, headers: readonly string[]): void {
  for (let at = 0; at < headers.length; at += 2) response.setHeader(headers[at] ?? '', headers[at + 1] ?? '');
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
  const { entry } = provider;
  if (entry.limits === undefined && key?.limits === undefined) return undefined;
  const subjects: Subject[] = [];
  if (entry.limits !== undefined) subjects.push(subjectOf(entry, 'provider', entry.id, entry.limits));
  if (key?.limits !== undefined)
    subjects.push(subjectOf(key, 'provider-key', `${entry.id}/${key.name}`, key.limits));
  return { subjects, wanted: { requests: 1, tokens: tokens(), takesPlace: true } };
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

/** Of each entry of a table one, for as long as the table is used. */
const subjects = new WeakMap<object, Subject>();

const noLimits: RateLimits = {};

function subjectOf(
  entry: object,
  kind: SubjectKind,
  id: string,
  limits: RateLimits = noLimits,
  budgets?: readonly Budget[],
): Subject {
  const known = subjects.get(entry);
  if (known !== undefined && known.limits === limits && known.budgets === budgets) return known;
  const subject: Subject = { kind, id, limits, budgets };
  subjects.set(entry, subject);
  return subject;
}

/** Of an attempt, what its caller is held to: what failed before anything was delivered is no use of theirs. */
export function tokensOfCaller({
  outcome,
  payer,
  usage,
}: Pick<LedgerRecord, 'outcome' | 'payer' | 'usage'>): number {
  return outcome === 'failed' || payer === 'platform' ? 0 : usage.input + usage.output;
}
