// Was the Secret written for a deleted ApiKey of the same name? Its key must not work again for the new one.

import type { ApiKey } from '../../resources/api-key.ts';
import { ISSUED_SECRET_LABEL, issuedSecretLabelValue } from '../../resources/issued-secret.ts';
import { API_GROUP } from '../../resources/metadata.ts';
import type { SecretRecord } from '../../watch/snapshot.ts';
import type { Finding } from '../verdict.ts';

export function secretOfNamesake(
  { metadata: { name, uid } }: Pick<ApiKey, 'metadata'>,
  { labels, owners = [], name: secretName }: SecretRecord,
): Finding | undefined {
  const isNamesakes = owners.some(
    (owner) =>
      owner.kind === 'ApiKey' &&
      owner.apiVersion.startsWith(`${API_GROUP}/`) &&
      owner.name === name &&
      uid !== undefined &&
      owner.uid !== uid,
  );
  if (!isNamesakes || labels[ISSUED_SECRET_LABEL] !== issuedSecretLabelValue(name)) return undefined;
  return {
    reason: 'SecretPending',
    message:
      `Secret ${secretName} belongs to a deleted ApiKey of the same name; once garbage collection has removed it, ` +
      'a new one is written. If that does not happen, delete it',
  };
}
