// The certificates to store after a check; unchanged if none is due.

import type { KeyPair } from '../../core/contract/internal-tls.ts';
import { issueCertificate } from './issue.ts';
import {
  authorityLifetimeMs,
  leafLifetimeMs,
  planIssue,
  type ServerKind,
  type ServerNames,
  type Stored,
} from './plan.ts';

/** The certificates that a look has renewed, for the log. */
interface Renewed {
  readonly stored: Stored & { readonly authority: KeyPair };
  readonly made: readonly ('authority' | ServerKind)[];
}

export async function renewCertificates(
  stored: Stored,
  serverNames: ServerNames,
  instance: string,
  nowMs: number,
): Promise<Renewed> {
  const plan = planIssue(stored, serverNames, nowMs);
  const authority =
    plan.authority === 'keep' && stored.authority !== undefined
      ? stored.authority
      : await issueCertificate({
          // During a rotation two authorities are valid, and OpenSSL finds the issuer by its name: so each name is unique.
          name: `${instance} internal CA ${new Date(nowMs).toISOString()}`,
          serverNames: [],
          lifetimeMs: authorityLifetimeMs,
          nowMs,
        });
  const leaves: Record<ServerKind, KeyPair | undefined> = { ...stored.leaves };
  for (const kind of plan.leaves)
    leaves[kind] = await issueCertificate({
      name: `${instance} ${kind}`,
      serverNames: serverNames[kind] ?? [],
      lifetimeMs: leafLifetimeMs,
      nowMs,
      issuer: authority,
    });
  const isMade = authority !== stored.authority;
  return {
    stored: { authority, leaves, trusted: [authority.certificate, ...plan.alsoTrusted] },
    made: [...(isMade ? (['authority'] as const) : []), ...plan.leaves],
  };
}
