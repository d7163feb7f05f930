// Is the Secret of a type that was made for credentials of providers, and for nothing else?

import type { SecretRecord } from '../../watch/snapshot.ts';
import type { Finding } from '../verdict.ts';
import type { SecretUse } from './secret-use.ts';

const ALLOWED_TYPES = ['Opaque', 'penstock.dev/provider-credential'];

export function secretTypeNotAllowed(use: SecretUse, secret: SecretRecord): Finding | undefined {
  if (ALLOWED_TYPES.includes(secret.type)) return undefined;
  return {
    reason: 'SecretTypeNotAllowed',
    message:
      `${use.field} names Secret ${use.secret} of type ${secret.type}; only the types ${ALLOWED_TYPES.join(' and ')} ` +
      'are sent to providers, so put the key into a Secret of its own',
  };
}
