// The finding for a missing Secret.

import type { Finding } from '../verdict.ts';
import { CREDENTIAL_LABEL, type SecretUse } from './secret-use.ts';

export function secretNotFound(use: SecretUse): Finding {
  return {
    reason: 'SecretNotFound',
    message:
      `${use.field} names Secret ${use.secret}, which does not exist in namespace ${use.namespace}; ` +
      `create it there, with the value under its key ${use.key} and the label ${CREDENTIAL_LABEL}: "true"`,
  };
}
