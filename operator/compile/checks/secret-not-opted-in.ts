// Is the Secret opted in for Providers? Otherwise a user with the right to create Providers, but not to read Secrets, could have any
// Secret of the namespace sent to a host of their choice.

import type { SecretRecord } from '../../watch/snapshot.ts';
import type { Finding } from '../verdict.ts';
import { CREDENTIAL_LABEL, type SecretUse } from './secret-use.ts';

export function secretNotOptedIn(use: SecretUse, secret: SecretRecord): Finding | undefined {
  if (secret.labels[CREDENTIAL_LABEL] === 'true') return undefined;
  return {
    reason: 'SecretNotOptedIn',
    message:
      `${use.field} names Secret ${use.secret}, which lacks the label ${CREDENTIAL_LABEL}: "true", ` +
      `by which its owner allows the use in Providers; run: ` +
      `kubectl -n ${use.namespace} label secret ${use.secret} ${CREDENTIAL_LABEL}=true`,
  };
}
