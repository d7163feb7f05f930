// How do callers see limits? Headers in the form of their SDKs, and a refusal that names the limit and its owner. Pure.

import type { ErrorShape } from '../../core/catalog/dialects.ts';
import { ERROR_SHAPES } from '../../core/catalog/error-shapes.ts';
import { byRate, LIMITS, limitMemberOf } from '../../core/catalog/limits.ts';
import type { Budget } from '../../core/contract/budget.ts';
import { GatewayError } from '../request/errors.ts';
import type { LimitState, Outcome } from './outcome.ts';
import type { Subject } from './subject.ts';

type Refused = Extract<Outcome, { readonly type: 'refused' }>;
type TooLarge = Extract<Outcome, { readonly type: 'too-large' }>;
type OverBudget = Extract<Outcome, { readonly type: 'over-budget' }>;

/**
 * Names and values in turn: OpenAI's names with durations everywhere, and on messages Anthropic's beside them, with RFC 3339 times.
 */
export function limitHeaders(
  limitStates: readonly LimitState[],
  shape: ErrorShape,
  wallMs: number,
): readonly string[] {
  const { rateLimitPrefix } = ERROR_SHAPES[shape];
  const headers: string[] = [];
  for (const { name, limit, remaining, resetMs } of limitStates) {
    const names = headerNames[name];
    const [max, left] = [String(limit), String(remaining)];
    headers.push(names.limit, max, names.remaining, left, names.reset, inDuration(resetMs));
    if (rateLimitPrefix === undefined) continue;
    const start = `${rateLimitPrefix}-${name}`;
    headers.push(
      `${start}-limit`,
      max,
      `${start}-remaining`,
      left,
      `${start}-reset`,
      inTime(wallMs + resetMs),
    );
  }
  return headers;
}

const headerNames = byRate((name) => ({
  limit: `x-ratelimit-limit-${name}`,
  remaining: `x-ratelimit-remaining-${name}`,
  reset: `x-ratelimit-reset-${name}`,
}));

/** As OpenAI writes them: `250ms`, `1s`, `6m0s`. */
function inDuration(ms: number): string {
  if (ms < 1_000) return `${ms}ms`;
  const seconds = Math.ceil(ms / 1_000);
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`;
}

/** Whole seconds, never too early. */
function inTime(unixMs: number): string {
  return new Date(Math.ceil(unixMs / 1_000) * 1_000).toISOString().replace('.000Z', 'Z');
}

/** @param model as the table has it. */
export function refusalError({ subject, limit, waitMs }: Refused, model: string): GatewayError {
  const seconds = Math.max(1, Math.ceil(waitMs / 1_000));
  const whose = whoseLimit(subject, model);
  const member = limitMemberOf[limit];
  const [before, after] = LIMITS[member].refusal;
  const fact = `${before} ${subject.limits[member]} ${after}`;
  // Clients that cannot see headers search the message for these words.
  return new GatewayError('rate_limit_exceeded', `${whose} ${fact}. Please try again in ${seconds}s.`, {
    retryAfterSeconds: waitMs / 1_000,
  });
}

/** Waiting does not help: a header says so to clients that retry after a 429. OpenAI answers such requests with 429, too. */
export function tooLargeError({ subject, name, limit, tokens }: TooLarge, model: string): GatewayError {
  const [, what] = LIMITS[limitMemberOf[name]].refusal;
  const may =
    subject.kind === 'model-route'
      ? `The model '${model}' may be used for`
      : `${whoseLimit(subject, model)} may use`;
  return new GatewayError(
    'rate_limit_exceeded',
    `Request too large: about ${tokens} tokens, the longest allowed answer included. ${may} ${limit} ${what}. Send less input, or ask for fewer output tokens.`,
    { headers: { 'x-should-retry': 'false' } },
  );
}

/** For a budget that is used up, the code on which this family of clients stops retrying; otherwise a time to retry. */
export function overBudgetError(
  { subject, budget, bounds, isExhausted }: OverBudget,
  shape: ErrorShape,
): GatewayError {
  const whose = ownerOf(subject);
  const what = describeBudget(budget);
  if (!isExhausted)
    return new GatewayError(
      'rate_limit_exceeded',
      `${whose} has a budget of ${what}; what is left of it is reserved for requests in flight or for other gateways. Please try again in 1s.`,
      { retryAfterSeconds: 1 },
    );
  const next = bounds.endMs === undefined ? 'It does not reset.' : `It resets at ${inTime(bounds.endMs)}.`;
  return new GatewayError(
    ERROR_SHAPES[shape].spentCode,
    `${whose} has used up its budget of ${what}. ${next} Ask your platform team to raise it.`,
  );
}

/** `$100.00 for the month (UTC)`. */
function describeBudget({ period, limitMicrodollars }: Budget): string {
  const cents = (limitMicrodollars / 1_000_000).toFixed(6).replace(/0{1,4}$/, '');
  return `$${cents} ${period === 'Total' ? 'in total' : `for the ${period.toLowerCase()} (UTC)`}`;
}

export function unavailableError(): GatewayError {
  return new GatewayError(
    'limits_unavailable',
    'Limits cannot be checked right now, so limited requests are rejected. Retry in 1 s.',
    { retryAfterSeconds: 1 },
  );
}

function whoseLimit(subject: Subject, model: string): string {
  return subject.kind === 'model-route' ? `The model '${model}'` : ownerOf(subject);
}

function ownerOf({ kind, id }: Subject): string {
  return kind === 'tenant' ? `The namespace '${id}'` : 'This API key';
}
