// Which id does a request get? Always a new one of ours: a caller's own id could be used twice,
// and the ledger identifies records by it. The caller's id is next to ours in logs and traces.

import { randomBytes } from 'node:crypto';

/** Ids of one process: 96 random bits that no other process has, and a count. */
export function createRequestIds(): () => string {
  const process = randomBytes(12).toString('hex');
  let count = 0;
  return () => `req_${process}${(count++).toString(36).padStart(6, '0')}`;
}

/** The client's own header first: a proxy may have set the other one. */
const theirNames = ['x-client-request-id', 'x-request-id'];
const wellFormed = /^[A-Za-z0-9._-]{8,64}$/;

/**
 * What the caller calls its request, where that is short and harmless: else it is as if there were none.
 *
 * @param rawHeaders Names and values in turn, as received.
 */
export function readClientRequestId(rawHeaders: readonly string[]): string | undefined {
  return theirNames
    .flatMap((name) =>
      rawHeaders.filter((_, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === name),
    )
    .find((id) => wellFormed.test(id));
}
