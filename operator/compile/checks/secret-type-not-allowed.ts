// Is the type of the Secret fit for provider credentials? Others belong to Kubernetes or other programs.

import type { SecretRecord } from '../../watch/snapshot.ts';
import type { Finding } from '../verdict.ts';
import type { SecretUse } from './secret-use.ts';

const ALLOWED_TYPES = ['Opaque', 'penstock.dev/provider-credential'];

/** @param types that are right for this use; by default those of keys. */
export function secretTypeNotAllowed(
  use: SecretUse,
  secret: SecretRecord,
  types: readonly string[] = ALLOWED_TYPES,
): Finding | undefined {
  if (types.includes(secret.type)) return undefined;
  if (types !== ALLOWED_TYPES) {
    const wanted = types.length === 1 ? `the type ${types[0]} is` : `the types ${types.join(', ')} are`;
    return {
      reason: 'SecretTypeNotAllowed',
      message: `${use.field} names Secret ${use.secret} of type ${secret.type}, and only ${wanted} used for that; make one`,
    };
  }
  return {
    reason: 'SecretTypeNotAllowed',
    message:
      `${use.field} names Secret ${use.secret} of type ${secret.type}; only the types ${ALLOWED_TYPES.join(' and ')} ` +
      'are sent to providers, so put the key into a separate Secret',
  };
}
