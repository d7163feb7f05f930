// May this Secret value go to this host, and what is it? One chain of checks for keys and headers alike.

import { hash } from 'node:crypto';
import type { Credential } from '../../gateway/contract/routing-table.ts';
import type { SecretRecord } from '../watch/snapshot.ts';
import { hostNotAllowed } from './checks/host-not-allowed.ts';
import { keyNotFound } from './checks/key-not-found.ts';
import { secretNotFound } from './checks/secret-not-found.ts';
import { secretNotOptedIn } from './checks/secret-not-opted-in.ts';
import { secretTypeNotAllowed } from './checks/secret-type-not-allowed.ts';
import type { SecretUse } from './checks/secret-use.ts';
import { secretValueInvalid } from './checks/secret-value-invalid.ts';
import type { Endpoint } from './endpoint.ts';
import type { Finding } from './verdict.ts';

export type ResolvedCredential =
  | { readonly kind: 'usable'; readonly credential: Credential }
  | { readonly kind: 'refused'; readonly finding: Finding };

/** @param id unique in the table: `namespace/provider/name`. */
export function resolveCredential(
  id: string,
  use: SecretUse,
  secret: SecretRecord | undefined,
  endpoint: Endpoint,
): ResolvedCredential {
  if (secret === undefined) return { kind: 'refused', finding: secretNotFound(use) };
  // Consent first: of a Secret that is not lent, nothing is told but that.
  const finding =
    secretNotOptedIn(use, secret) ??
    secretTypeNotAllowed(use, secret) ??
    hostNotAllowed(use, secret, endpoint) ??
    keyNotFound(use, secret);
  if (finding !== undefined) return { kind: 'refused', finding };
  // Editors and --from-file leave one line break behind; it is never part of a key.
  const value = (secret.data[use.key] ?? '').replace(/\r?\n$/, '');
  const invalid = secretValueInvalid(use, value);
  if (invalid !== undefined) return { kind: 'refused', finding: invalid };
  const credential = {
    id,
    value,
    fingerprint: hash('sha256', value).slice(0, 16),
    hosts: [endpoint.authority],
  };
  return { kind: 'usable', credential };
}
