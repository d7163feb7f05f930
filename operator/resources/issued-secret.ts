// Which Secret holds the key of an ApiKey, and how does it differ from an unrelated Secret of that name?

import { hash } from 'node:crypto';
import type { ApiKey } from './api-key.ts';

/** Marks the Secret that was written for an ApiKey. Its value is `issuedSecretLabelValue`. */
export const ISSUED_SECRET_LABEL = 'penstock.dev/api-key';

const LABEL_VALUE_MAX = 63;

/** The Secret of an ApiKey that has no imports. */
export function issuedSecretName(apiKey: Pick<ApiKey, 'metadata' | 'spec'>): string {
  return apiKey.spec.secret?.name ?? `${apiKey.metadata.name}-key`;
}

/** Labels of that Secret: those that its ApiKey asks for, and ours, which always win. */
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

/** The prefix of Kubernetes for names that people and dashboards read. */
const COMMON_PREFIX = 'app.kubernetes.io';

/**
 * The names that its ApiKey asks for and that are not written: those with a prefix that the platform has not allowed. Controllers act on
 * such names (they copy the Secret, prune it, read it as their credentials), and the author of an ApiKey may lack the right to write
 * Secrets.
 */
export function refusedMetadata({ spec }: Pick<ApiKey, 'spec'>, prefixes: readonly string[]): string[] {
  const { labels = {}, annotations = {} } = spec.secret ?? {};
  return [...new Set([...Object.keys(labels), ...Object.keys(annotations)])]
    .filter((name) => !isAllowed(name, prefixes))
    .sort();
}

/** The ApiKey without what is not written. */
export function withAllowedMetadata(apiKey: ApiKey, prefixes: readonly string[]): ApiKey {
  const { secret } = apiKey.spec;
  if (secret === undefined || refusedMetadata(apiKey, prefixes).length === 0) return apiKey;
  const allowed = (texts: Readonly<Record<string, string>> = {}) =>
    Object.fromEntries(Object.entries(texts).filter(([name]) => isAllowed(name, prefixes)));
  const written = { ...secret, labels: allowed(secret.labels), annotations: allowed(secret.annotations) };
  return { ...apiKey, spec: { ...apiKey.spec, secret: written } };
}

function isAllowed(name: string, prefixes: readonly string[]): boolean {
  const slash = name.indexOf('/');
  return slash < 0 || [COMMON_PREFIX, ...prefixes].includes(name.slice(0, slash));
}

/**
 * The name of the ApiKey. A label value has at most 63 characters, a name 200: a longer name is cut, and its hash added.
 */
export function issuedSecretLabelValue(apiKeyName: string): string {
  if (apiKeyName.length <= LABEL_VALUE_MAX) return apiKeyName;
  return `${apiKeyName.slice(0, 46)}-${hash('sha256', apiKeyName).slice(0, 16)}`;
}
