// By which name do we remember a request? Minted here always: a caller's own id could be used twice,
// and the ledger tells records apart by it.

import { randomBytes } from 'node:crypto';

/** Ids of one process: 96 random bits that no other process has, and a count. */
export function createRequestIds(): () => string {
  const process = randomBytes(12).toString('hex');
  let count = 0;
  return () => `req_${process}${(count++).toString(36).padStart(6, '0')}`;
}
