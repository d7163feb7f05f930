// May this request pass, and may this attempt? Which limits apply, what the caller sees of them, and with which amounts they are settled
// at the end.

import type { ServerResponse } from 'node:http';
import type { Budget } from '../../core/contract/budget.ts';
import type { LedgerRecord } from '../../core/contract/ledger-record.ts';
import type { KeyEntry, RateLimits } from '../../core/contract/routing-table.ts';
import {
  limitHeaders,
  overBudgetError,
  refusalError,
  tooLargeError,
  unavailableError,
} from '../limits/limit-errors.ts';
import type { Outcome } from '../limits/outcome.ts';
import type { Subject, SubjectKind, Wanted } from '../limits/subject.ts';
import type { GatewayError } from '../request/errors.ts';
import type { Candidate } from '../route/plan.ts';
import type { KeyedEndpoint, RouteView } from '../table/view.ts';
import { costAtMost, isPaidFromBudget } from './budgets.ts';
import type { SpendEstimate } from './estimate-spend.ts';
import { type PipelineParts, type RoutedExchange, timeoutFor } from './parts.ts';

export type Granted = Extract<Outcome, { readonly type: 'granted' }>;

type LimitedExchange = Pick<RoutedExchange, 'caller' | 'view' | 'plan' | 'dialect' | 'response'>;

/** Subjects with limits, and the amounts to reserve. */
interface LimitsAsked {
  readonly subjects: readonly Subject[];
  readonly wanted: Wanted;
}

/** Knows what a request may use; absent: it takes no place, and costs nothing. */
interface Spender {
  estimate(): SpendEstimate;
}

/**
 * Asks the limits of the ApiKey, of its namespace and of the ModelRoute, and the budgets that the request is paid from, and puts how
 * limits stand into the head of a refusal. Undefined at once if nothing of them concerns it.
 *
 * @throws {GatewayError} `rate_limit_exceeded`, `insufficient_quota` or `billing_error`; `limits_unavailable` where the store is to be
 * asked and does not answer.
 */
export function enterRequest(
  parts: Pick<PipelineParts, 'limits' | 'clock'>,
  exchange: LimitedExchange,
  spender: Spender | undefined,
  lastsMs: number,
): Granted | Promise<Granted> | undefined {
  const asked = limitsOfRequest(exchange, spender);
  const outcome = asked && parts.limits.reserve(asked.subjects, asked.wanted, lastsMs);
  if (outcome instanceof Promise) return outcome.then((value) => concludeRequest(parts, exchange, value));
  return outcome && concludeRequest(parts, exchange, outcome);
}

/** Undefined if neither ApiKey, namespace nor ModelRoute has a limit or a budget. */
export function limitsOfRequest(
  exchange: Omit<LimitedExchange, 'response'>,
  spender: Spender | undefined,
): LimitsAsked | undefined {
  const subjects = subjectsOfRequest(exchange);
  return subjects.length === 0 ? undefined : { subjects, wanted: wantedOf(exchange, spender?.estimate()) };
}

function subjectsOfRequest({
  caller: { key, namespace },
  plan: { route },
  view,
}: Omit<LimitedExchange, 'response'>): readonly Subject[] {
  const known = subjectsOfRoutes.get(route)?.get(key);
  if (known !== undefined) return known;
  const { entry } = route;
  const [ofTenant, paidByTenant] = [view.tenantLimits.get(namespace), view.tenantBudgets.get(namespace)];
  const found = [
    ...subjectOf(key, 'api-key', key.id, key.limits, key.budgets),
    ...subjectOf(ofTenant ?? paidByTenant, 'tenant', namespace, ofTenant, paidByTenant),
    ...subjectOf(entry, 'model-route', entry.id, entry.limits),
  ];
  const ofRoute = subjectsOfRoutes.get(route) ?? new WeakMap<KeyEntry, readonly Subject[]>();
  subjectsOfRoutes.set(route, ofRoute.set(key, found));
  return found;
}

/** Kept as long as the table view they belong to. */
const subjectsOfRoutes = new WeakMap<RouteView, WeakMap<KeyEntry, readonly Subject[]>>();

function wantedOf(exchange: Omit<LimitedExchange, 'response'>, spend: SpendEstimate | undefined): Wanted {
  if (spend === undefined) return { requests: 1, tokens: 0, takesPlace: false };
  const { tokens, tokensMin, input, output, inputMost } = spend;
  const { plan } = exchange;
  const isPaid = isPaidFromBudget(exchange);
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
    setHeaders(exchange.response, limitStateHeaders(parts, exchange, outcome.limitStates));
  throw limitError(outcome, exchange);
}

/** How limits stand, for the head of an answer: names and values in turn. */
export function limitStateHeaders(
  { clock }: Pick<PipelineParts, 'clock'>,
  { dialect }: Pick<LimitedExchange, 'dialect'>,
  limitStates: Granted['limitStates'],
): readonly string[] {
  return limitHeaders(limitStates, dialect.errorShape, clock.wallMs());
}

/** Into the head of whatever is answered. */
export function setHeaders(response: Pick<ServerResponse, 'setHeader'>, headers: readonly string[]): void {
  for (let at = 0; at < headers.length; at += 2) response.setHeader(headers[at] ?? '', headers[at + 1] ?? '');
}

/** The error for a caller whose request a limit refuses. */
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

/** Whether the quotas of its provider and of the key admit an attempt; otherwise how long they are used up, as far as known. */
export type Entrance = Granted | ({ readonly type: 'full' } & Saturation);

export interface Saturation {
  readonly waitMs: number;
  /** Their use is unknown: the store does not answer. */
  readonly isUnknown: boolean;
}

/** An upstream call, and the tokens that it is expected to use. */
interface SpendingCall {
  readonly tokensOfCall: number;
}

/** Undefined if neither provider nor key has a limit. */
export function enterAttempt(
  { limits, defaults }: Pick<PipelineParts, 'limits' | 'defaults'>,
  exchange: RoutedExchange,
  candidate: Candidate,
  call: SpendingCall,
): Entrance | Promise<Entrance> | undefined {
  const asked = limitsOfAttempt(candidate, call);
  if (asked === undefined) return undefined;
  const lastsMs = timeoutFor(exchange, candidate, 'totalMs', defaults);
  const outcome = limits.reserve(asked.subjects, asked.wanted, lastsMs);
  return outcome instanceof Promise ? outcome.then(entranceOf) : outcome && entranceOf(outcome);
}

/** Undefined if neither provider nor key has a limit. */
export function limitsOfAttempt(candidate: Candidate, call: SpendingCall): LimitsAsked | undefined {
  const subjects = subjectsOfAttempt(candidate);
  if (subjects.length === 0) return undefined;
  return { subjects, wanted: { requests: 1, tokens: call.tokensOfCall, takesPlace: true } };
}

function subjectsOfAttempt({ target: { provider }, endpoint }: Candidate): readonly Subject[] {
  let found = subjectsOfEndpoints.get(endpoint);
  if (found === undefined) {
    const { entry } = provider;
    const { key } = endpoint;
    found = [
      ...subjectOf(entry, 'provider', entry.id, entry.limits),
      ...subjectOf(key, 'provider-key', `${entry.id}/${key?.name}`, key?.limits),
    ];
    subjectsOfEndpoints.set(endpoint, found);
  }
  return found;
}

/** Kept as long as the table view they belong to. */
const subjectsOfEndpoints = new WeakMap<KeyedEndpoint, readonly Subject[]>();

function entranceOf(outcome: Outcome): Entrance {
  if (outcome.type === 'granted') return outcome;
  const fullness = fullnessOf(outcome);
  if (fullness === undefined)
    throw new Error('no attempt asks a budget, or says that it is too large for a quota');
  return { type: 'full', ...fullness };
}

/** Undefined if an attempt is admitted, and for limits that attempts do not use. */
export function fullnessOf(
  outcome: Exclude<Outcome, { readonly type: 'granted' }> | { readonly type: 'granted' },
): Saturation | undefined {
  switch (outcome.type) {
    case 'refused':
      return { waitMs: outcome.waitMs, isUnknown: false };
    case 'unavailable':
      return { waitMs: 0, isUnknown: true };
    default:
      return undefined;
  }
}

/** One subject for each entry of a table, as long as the table is used. */
const subjects = new WeakMap<object, Subject>();

const noLimits: RateLimits = {};

/** None if it has neither limits nor budgets. */
function subjectOf(
  entry: object | undefined,
  kind: SubjectKind,
  id: string,
  limits: RateLimits | undefined,
  budgets?: readonly Budget[],
): readonly Subject[] {
  if (entry === undefined || (limits === undefined && budgets === undefined)) return [];
  const known = subjects.get(entry);
  if (known !== undefined && known.limits === (limits ?? noLimits) && known.budgets === budgets)
    return [known];
  const subject: Subject = { kind, id, limits: limits ?? noLimits, budgets };
  subjects.set(entry, subject);
  return [subject];
}

/** Tokens that an attempt uses of its caller's limits: none if it failed before delivery. */
export function tokensOfCaller({
  outcome,
  payer,
  usage,
}: Pick<LedgerRecord, 'outcome' | 'payer' | 'usage'>): number {
  return outcome === 'failed' || payer === 'platform' ? 0 : usage.input + usage.output;
}
