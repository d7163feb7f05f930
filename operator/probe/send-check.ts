// Sends a health check through the same egress guard as every call of a gateway.

import { buildConnection } from '../../core/contract/connection.ts';
import type { ProviderEntry } from '../../core/contract/routing-table.ts';
import type { AddressRules } from '../../core/egress/address-rules.ts';
import { sendOnce } from '../../core/egress/send-once.ts';
import type { CheckAnswer, CheckCall, RevealCredential } from './check.ts';

export interface CheckRoute {
  readonly entry: ProviderEntry;
  /** What its namespace may reach. */
  readonly rules: AddressRules;
  readonly reveal: RevealCredential;
}

/** The error is at the beginning of an answer, and takes a few hundred bytes. */
const bodyBytesMax = 16 * 1024;

/** Never rejects. Of the answer's body only the beginning is read, and only where it may say what is refused. */
export type SendCheck = (
  call: CheckCall,
  route: CheckRoute,
  timeoutMs: number,
  signal: AbortSignal,
) => Promise<CheckAnswer>;

export const sendCheck: SendCheck = (call, { entry, rules, reveal }, timeoutMs, signal) =>
  sendOnce(call, {
    rules,
    namespace: entry.id.slice(0, entry.id.indexOf('/')),
    connection: buildConnection(entry, (id) => reveal(id) ?? ''),
    timeoutMs,
    signal,
    bodyBytesMax: (status) => (status >= 400 && status < 500 ? bodyBytesMax : 0),
  });
