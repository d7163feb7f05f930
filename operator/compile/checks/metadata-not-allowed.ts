// Does an ApiKey ask for labels or annotations on its Secret that the platform has not allowed? They are left out; the key works.

import type { ApiKey } from '../../resources/api-key.ts';
import { issuedSecretName, refusedMetadata } from '../../resources/issued-secret.ts';
import type { PlatformSettings } from '../../watch/snapshot.ts';
import type { Finding } from '../verdict.ts';

export function metadataNotAllowed(
  apiKey: ApiKey,
  { metadataPrefixes = [] }: Pick<PlatformSettings, 'metadataPrefixes'>,
): Finding | undefined {
  const names = refusedMetadata(apiKey, metadataPrefixes);
  if (names.length === 0) return undefined;
  return {
    reason: 'MetadataNotAllowed',
    message:
      `these labels and annotations are not written to Secret ${issuedSecretName(apiKey)}: ${names.join(', ')}. Other controllers act on ` +
      'such prefixes, and the platform has not allowed them; remove them from spec.secret, write them to the Secret yourself, ' +
      'or ask the platform team to allow the prefix (chart value issuedSecrets.metadataPrefixes)',
  };
}
