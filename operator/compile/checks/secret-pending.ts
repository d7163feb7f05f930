// The finding while the Secret with the key has not been written yet.

import type { Finding } from '../verdict.ts';

export function secretPending(secretName: string, isDisabled: boolean): Finding {
  const wayOut = isDisabled
    ? 'the operator writes it with a new key once spec.disabled is false'
    : 'the operator is writing it with a new key; no action needed';
  return { reason: 'SecretPending', message: `Secret ${secretName} does not exist yet; ${wayOut}` };
}
