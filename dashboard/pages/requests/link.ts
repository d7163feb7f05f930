// Where are single requests listed? The address of the Requests view, with its filters.

import type { Period } from '../overview/period.ts';

/** Which requests; without any, all of the namespace in the header. */
export interface RequestsWanted {
  readonly namespace?: string | undefined;
  /** `namespace/name`. */
  readonly apiKey?: string | undefined;
  readonly model?: string | undefined;
  /** `namespace/name` of a Provider: requests that one of its attempts went to. */
  readonly provider?: string | undefined;
  readonly outcome?: RequestOutcome | undefined;
  /** HTTP status that the caller saw. */
  readonly status?: number | undefined;
  /** Why it was refused, or how it failed: `rate_limit_exceeded`, `status_500`. */
  readonly code?: string | undefined;
  /** The `x-request-id` of a response. */
  readonly request?: string | undefined;
  readonly period?: Period | undefined;
}

/** `error`: failed, cut off or interrupted, or not served by the gateway itself, with a status of 500 or more. */
export const REQUEST_OUTCOMES = [
  'error',
  'refused',
  'failed',
  'broken-off',
  'interrupted',
  'cancelled',
  'answered',
] as const;
type RequestOutcome = (typeof REQUEST_OUTCOMES)[number];

export function requestsLink(wanted: RequestsWanted = {}): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(wanted))
    if (value !== undefined) search.set(name, String(value));
  const text = search.toString();
  return text === '' ? '/requests' : `/requests?${text}`;
}
