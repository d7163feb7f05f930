// Is the Secret of this name the one that was written for this ApiKey?

import type { ApiKey } from '../../resources/api-key.ts';
import { ISSUED_SECRET_LABEL, issuedSecretLabelValue } from '../../resources/issued-secret.ts';
import { API_GROUP } from '../../resources/metadata.ts';
import type { SecretOwner, SecretRecord } from '../../watch/snapshot.ts';
import type { Finding } from '../verdict.ts';

/** One that was kept after its ApiKey, or was orphaned, has no owner: it goes to the next ApiKey of that name. */
export function secretTaken(
  { metadata: { name, uid } }: Pick<ApiKey, 'metadata'>,
  secret: SecretRecord,
): Finding | undefined {
  const others = (secret.owners ?? []).filter((owner) => uid !== undefined && owner.uid !== uid);
  const namesake = others.find((owner) => isApiKey(owner) && owner.name === name);
  const isOurs = secret.labels[ISSUED_SECRET_LABEL] === issuedSecretLabelValue(name);
  if (isOurs && namesake !== undefined) {
    return {
      reason: 'SecretPending',
      message:
        `Secret ${secret.name} is that of an ApiKey of the same name that was deleted; when the cluster has collected it, ` +
        'a new one is written. Delete it where that does not happen',
    };
  }
  if (isOurs && !others.some((owner) => isApiKey(owner) || owner.controller === true)) return undefined;
  return {
    reason: 'SecretTaken',
    message:
      `Secret ${secret.name} is there and was not written for this ApiKey; it is left as it is. ` +
      'Delete it, or create the ApiKey anew with another spec.secret.name',
  };
}

function isApiKey({ apiVersion, kind }: SecretOwner): boolean {
  return kind === 'ApiKey' && apiVersion.startsWith(`${API_GROUP}/`);
}
