// Is the Secret of this name the one that was written for this ApiKey?

import { ISSUED_SECRET_LABEL, issuedSecretLabelValue } from '../../resources/issued-secret.ts';
import type { SecretRecord } from '../../watch/snapshot.ts';
import type { Finding } from '../verdict.ts';

export function secretTaken(apiKeyName: string, secret: SecretRecord): Finding | undefined {
  if (secret.labels[ISSUED_SECRET_LABEL] === issuedSecretLabelValue(apiKeyName)) return undefined;
  return {
    reason: 'SecretTaken',
    message:
      `Secret ${secret.name} is there and was not written for this ApiKey; it is left as it is. ` +
      'Delete it, or create the ApiKey anew with another spec.secret.name',
  };
}
