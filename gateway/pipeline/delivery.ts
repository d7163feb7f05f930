// How is the answer of a request given out, and how is it fetched? What the route says, and what the
// caller asks for in the header `x-penstock-delivery`.

import type { RouteEntry } from '../../core/contract/routing-table.ts';
import { type CommitRule, ordinaryCommit } from '../attempt/commit-point.ts';
import { GatewayError } from '../request/errors.ts';

export interface Delivery {
  /** The caller gets a whole, usable answer or an error: a failure before that stays hidden. */
  readonly isAssured: boolean;
  /** For streamed answers. */
  readonly commitRule: CommitRule;
  /** A plain answer is fetched as a stream, so that the timers of a stream see it. */
  readonly fetchesStream: boolean;
  /** Answers name the requested model, not the one that the upstream served. */
  readonly namesRequested: boolean;
}

const header = 'x-penstock-delivery';

/**
 * Values that a caller may set. It can ask for more than the route says, not for less: the author of the
 * route knows whether its clients can handle half an answer.
 */
const askable: ReadonlySet<string> = new Set(['assured', 'stream']);

/**
 * @param rawHeaders Names and values in turn, as received.
 * @throws {GatewayError} `invalid_parameter`, naming the header.
 */
export function readDelivery(
  { delivery, holdBack, upstreamStreaming, responseModel }: RouteEntry,
  rawHeaders: readonly string[],
): Delivery {
  const isAssured = asksAssured(rawHeaders) || delivery === 'Assured';
  const fetchesStream = upstreamStreaming === 'Always';
  const namesRequested = responseModel === 'Requested';
  if (!isAssured && !fetchesStream && !namesRequested && holdBack === undefined) return ordinaryDelivery;
  return { isAssured, commitRule: commitRuleOf(isAssured, holdBack), fetchesStream, namesRequested };
}

/** Default: answers are forwarded as they arrive, in the upstream's own words. */
export const ordinaryDelivery: Delivery = {
  isAssured: false,
  commitRule: ordinaryCommit,
  fetchesStream: false,
  namesRequested: false,
};

function commitRuleOf(isAssured: boolean, holdBack: RouteEntry['holdBack']): CommitRule {
  if (isAssured) return { type: 'whole' };
  const { events, durationMs } = holdBack ?? {};
  // Neither says how long: nothing is held back.
  if (events === undefined && durationMs === undefined) return ordinaryCommit;
  return { type: 'hold-back', events, durationMs };
}

function asksAssured(rawHeaders: readonly string[]): boolean {
  let isAssured = false;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    if (rawHeaders[at]?.toLowerCase() !== header) continue;
    const value = rawHeaders[at + 1]?.trim().toLowerCase() ?? '';
    if (!askable.has(value)) {
      const message = `The header '${header}' must be 'assured' (or 'stream', which is as if it were left out).`;
      throw new GatewayError('invalid_parameter', message, { param: header });
    }
    if (value === 'assured') isAssured = true;
  }
  return isAssured;
}
