// Does the Secret hold the value?

import type { SecretRecord } from '../../watch/snapshot.ts';
import type { Finding } from '../verdict.ts';
import type { SecretUse } from './secret-use.ts';

export function keyNotFound(use: SecretUse, secret: SecretRecord): Finding | undefined {
  const value = Object.hasOwn(secret.data, use.key) ? secret.data[use.key] : undefined;
  if (value !== undefined && value !== '') return undefined;
  const [fact, action] =
    value === undefined
      ? ['which has no such key', 'correct the name, or add the key']
      : ['where it is empty', 'write the value there'];
  return {
    reason: 'KeyNotFound',
    message: `${use.field} names key ${use.key} of Secret ${use.secret}, ${fact}; ${action}`,
  };
}
