// Which Secret holds the key of an ApiKey, and how is it told from somebody else's Secret of that name?

import { hash } from 'node:crypto';
import type { ApiKey } from './api-key.ts';

/** Marks a Secret as the one that was written for an ApiKey. Its value is `issuedSecretLabelValue`. */
export const ISSUED_SECRET_LABEL = 'penstock.dev/api-key';

const LABEL_VALUE_MAX = 63;

/** The Secret of an ApiKey that has no imports. */
export function issuedSecretName(apiKey: Pick<ApiKey, 'metadata' | 'spec'>): string {
  return apiKey.spec.secret?.name ?? `${apiKey.metadata.name}-key`;
}

/** Labels of that Secret: those that its ApiKey asks for, and ours, which nobody can take away. */
export function issuedSecretLabels({
  metadata,
  spec,
}: Pick<ApiKey, 'metadata' | 'spec'>): Record<string, string> {
  return { ...spec.secret?.labels, [ISSUED_SECRET_LABEL]: issuedSecretLabelValue(metadata.name) };
}

/** Annotations of that Secret. */
export function issuedSecretAnnotations({ spec }: Pick<ApiKey, 'spec'>): Record<string, string> {
  return { ...spec.secret?.annotations };
}

/**
 * The name of the ApiKey. A label value ends at 63 characters, a name at 200: a longer name is cut and
 * told apart by its hash.
 */
export function issuedSecretLabelValue(apiKeyName: string): string {
  if (apiKeyName.length <= LABEL_VALUE_MAX) return apiKeyName;
  return `${apiKeyName.slice(0, 46)}-${hash('sha256', apiKeyName).slice(0, 16)}`;
}
