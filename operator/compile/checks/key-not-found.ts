// Does the Secret hold the value?

import type { SecretRecord } from '../../watch/snapshot.ts';
import type { Finding } from '../verdict.ts';
import type { SecretUse } from './secret-use.ts';

export function keyNotFound(use: SecretUse, secret: SecretRecord): Finding | undefined {
  const value = Object.hasOwn(secret.data, use.key) ? secret.data[use.key] : undefined;
  if (value !== undefined && value !== '') return undefined;
  const fact = value === undefined ? 'does not exist in' : 'is empty in';
  return {
    reason: 'KeyNotFound',
    message: `${use.field} names the key ${use.key}, which ${fact} Secret ${use.secret}; write the value there`,
  };
}
