// Does the value in the Secret look like a key that was made here? A short one could be guessed.

import { isVisibleWord } from '../../../core/contract/visible-word.ts';
import type { SecretRecord } from '../../watch/snapshot.ts';
import type { Finding } from '../verdict.ts';

const KEY_CHARACTERS_MIN = 20;

/** The value itself is never part of the message. */
export function keyMalformed(secret: SecretRecord, dataKey: string, keyPrefix: string): Finding | undefined {
  const value = Object.hasOwn(secret.data, dataKey) ? (secret.data[dataKey] ?? '') : '';
  if (isKeyFormed(value, keyPrefix)) return undefined;
  return {
    reason: 'KeyMalformed',
    message:
      `${dataKey} in Secret ${secret.name} is not a key of this installation: keys start with "${keyPrefix}", have at least ` +
      `${KEY_CHARACTERS_MIN} characters and no spaces; delete the Secret to get a new key`,
  };
}

export function isKeyFormed(value: string, keyPrefix: string): boolean {
  return value.startsWith(keyPrefix) && value.length >= KEY_CHARACTERS_MIN && isVisibleWord(value);
}
