// Was the Secret of this name written for this ApiKey?

import type { ApiKey } from '../../resources/api-key.ts';
import { ISSUED_SECRET_LABEL, issuedSecretLabelValue } from '../../resources/issued-secret.ts';
import type { SecretRecord } from '../../watch/snapshot.ts';
import type { Finding } from '../verdict.ts';

/** A Secret without an owner, kept after its ApiKey or orphaned, goes to the next ApiKey of that name. */
export function secretTaken(
  { metadata: { name, uid } }: Pick<ApiKey, 'metadata'>,
  { labels, owners = [], name: secretName }: SecretRecord,
): Finding | undefined {
  const isOurs = labels[ISSUED_SECRET_LABEL] === issuedSecretLabelValue(name);
  const isControlled = owners.some(
    (owner) => owner.controller === true && uid !== undefined && owner.uid !== uid,
  );
  if (isOurs && !isControlled) return undefined;
  return {
    reason: 'SecretTaken',
    message:
      `Secret ${secretName} exists and was not written for this ApiKey, so it stays unchanged. ` +
      'Delete it, or create the ApiKey again with another spec.secret.name',
  };
}
