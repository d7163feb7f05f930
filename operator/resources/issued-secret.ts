// Which Secret holds the key of an ApiKey, and how is it told from somebody else's Secret of that name?

import { hash } from 'node:crypto';
import type { ApiKey } from './api-key.ts';

/** Marks a Secret as the one that was written for an ApiKey. Its value is `issuedSecretLabelValue`. */
export const ISSUED_SECRET_LABEL = 'penstock.dev/api-key';

/** Data keys beside the key itself. */
export const PREVIOUS_KEY = 'previousApiKey';
/** Here the next key waits until every gateway knows it. For the operator alone; nobody else is to read it. */
export const NEXT_KEY = 'nextApiKey';
/** Where the key can be used. */
export const BASE_URL_KEY = 'baseURL';

/** What must outlive a lost status. No user can ask for these: names that begin with `penstock.dev/` are refused. */
export const SECRET_NOTES = {
  /** Since when the present key is the key; RFC 3339. */
  issuedAt: 'penstock.dev/issued-at',
  /** Number of the present key; the one before it has the number before. */
  version: 'penstock.dev/key-version',
  /** The `spec.rotation.trigger` that was acted on last; absent: none. */
  trigger: 'penstock.dev/rotation-trigger',
  /** Until when the previous key works; RFC 3339. */
  previousNotAfter: 'penstock.dev/previous-not-after',
  /** Names of the labels and annotations that stand there because the spec asks for them. */
  fromSpec: 'penstock.dev/from-spec',
} as const;

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
