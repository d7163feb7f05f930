// The finding for a missing Secret.

import type { Finding } from '../verdict.ts';
import { ALLOWED_HOSTS_ANNOTATION, CREDENTIAL_LABEL, type SecretUse } from './secret-use.ts';

export function secretNotFound(use: SecretUse): Finding {
  return {
    reason: 'SecretNotFound',
    message:
      `${use.field} names Secret ${use.secret}, which does not exist in namespace ${use.namespace}; ` +
      `create it there with the value under its key ${use.key}, the label ${CREDENTIAL_LABEL}: "true", ` +
      `and, except for a vendor's own address, the annotation ${ALLOWED_HOSTS_ANNOTATION}: <host>`,
  };
}
