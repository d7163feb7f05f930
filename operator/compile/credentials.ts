// May this Secret value be sent to this host? One chain of checks for keys, headers, client certificates and proxies.

import { hash } from 'node:crypto';
import type { Credential } from '../../core/contract/routing-table.ts';
import type { SecretRecord } from '../watch/snapshot.ts';
import { hostNotAllowed } from './checks/host-not-allowed.ts';
import { keyNotFound } from './checks/key-not-found.ts';
import { secretNotFound } from './checks/secret-not-found.ts';
import { secretNotOptedIn } from './checks/secret-not-opted-in.ts';
import { secretTypeNotAllowed } from './checks/secret-type-not-allowed.ts';
import type { SecretUse } from './checks/secret-use.ts';
import { secretValueInvalid } from './checks/secret-value-invalid.ts';
import type { Destination } from './endpoint.ts';
import type { Finding } from './verdict.ts';

export type ResolvedCredential =
  | { readonly kind: 'usable'; readonly credential: Credential }
  | { readonly kind: 'refused'; readonly finding: Finding };

/** What differs from a key that goes into a header. */
export interface CredentialKind {
  readonly types?: readonly string[];
  readonly isValid: (value: string) => Finding | undefined;
  /** Converts the value for gateways; absent: unchanged. */
  readonly write?: (value: string) => string;
}

/**
 * @param id unique in the table: `namespace/provider/name`.
 * @param destinations everybody who gets to see it; its Secret must be bound to each.
 */
export function resolveCredential(
  id: string,
  use: SecretUse,
  secret: SecretRecord | undefined,
  destinations: readonly Destination[],
  kind: CredentialKind = { isValid: (value) => secretValueInvalid(use, value) },
): ResolvedCredential {
  if (secret === undefined) return { kind: 'refused', finding: secretNotFound(use) };
  // Consent first: of a Secret that is not opted in, report only that.
  const finding =
    // guard: secret-opt-in
    secretNotOptedIn(use, secret) ??
    secretTypeNotAllowed(use, secret, kind.types) ??
    destinations.map((destination) => hostNotAllowed(use, secret, destination)).find(Boolean) ??
    keyNotFound(use, secret);
  if (finding !== undefined) return { kind: 'refused', finding };
  // Editors and --from-file leave one line break behind; it is never part of a key.
  const written = (secret.data[use.key] ?? '').replace(/\r?\n$/, '');
  const invalid = kind.isValid(written);
  if (invalid !== undefined) return { kind: 'refused', finding: invalid };
  const value = kind.write?.(written) ?? written;
  const credential = {
    id,
    value,
    fingerprint: hash('sha256', value).slice(0, 16),
    hosts: destinations.map(({ tableHost }) => tableHost),
    from: { secret: use.secret, key: use.key },
  };
  return { kind: 'usable', credential };
}
