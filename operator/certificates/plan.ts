// Which certificates are due for renewal? Decided from the certificates themselves, of the authority, the gateways and the ledger, so no
// other state is kept. A new authority is trusted by all before a certificate of it is used, and the former one until none of its
// certificates is used any more.
//
//   authority half its life old ──► a new one signs, both are trusted ──10 min──► certificates move over ──10 min──► the former one is removed

import { createPrivateKey, X509Certificate } from 'node:crypto';
import type { KeyPair } from '../../core/contract/internal-tls.ts';
import { backdatedMs } from './issue.ts';

/** The servers whose certificates the authority signs. */
const servers = ['gateway', 'ledger'] as const;
export type ServerKind = (typeof servers)[number];
/** The servers of this installation, with their host names. */
export type ServerNames = Readonly<Partial<Record<ServerKind, readonly string[]>>>;

export interface Stored {
  readonly authority: KeyPair | undefined;
  /** PEM, one certificate each. */
  readonly trusted: readonly string[];
  readonly leaves: Readonly<Record<ServerKind, KeyPair | undefined>>;
}

interface IssuePlan {
  readonly authority: 'keep' | 'make';
  /** Once that is done, those that are to be made. */
  readonly leaves: readonly ServerKind[];
  /** Besides the authority that signs. */
  readonly alsoTrusted: readonly string[];
}

const dayMs = 86_400_000;
export const authorityLifetimeMs = 730 * dayMs;
export const leafLifetimeMs = 90 * dayMs;
/** By then every process trusts a new authority: the kubelet renews what is mounted within two minutes, all else takes seconds. */
const settleMs = 10 * 60_000;

export function planIssue(stored: Stored, serverNames: ServerNames, nowMs: number): IssuePlan {
  const found = stored.authority && readPair(stored.authority);
  const isGoodOn = found?.ca === true && remainingMs(found, nowMs) > authorityLifetimeMs / 2;
  const authority = isGoodOn ? found : undefined;
  const former = [
    ...stored.trusted,
    ...(stored.authority === undefined ? [] : [stored.authority.certificate]),
  ]
    .flatMap((pem) => readCertificate(pem) ?? [])
    .filter(
      (one) => one.ca && remainingMs(one, nowMs) > 0 && one.fingerprint256 !== authority?.fingerprint256,
    );
  const hasSettled = authority !== undefined && ageMs(authority, nowMs) >= settleMs;
  const shown = servers.flatMap((kind) => {
    const names = serverNames[kind];
    return names === undefined
      ? []
      : [{ kind, names, leaf: stored.leaves[kind] && readPair(stored.leaves[kind]) }];
  });
  const isDue = ({ names, leaf }: (typeof shown)[number]): boolean => {
    if (leaf === undefined || !isUsable(leaf, names, nowMs)) return true;
    if (authority !== undefined && isSignedByOne(leaf, [authority])) return isOld(leaf, nowMs);
    return hasSettled || !isSignedByOne(leaf, former);
  };
  const haveMoved =
    authority !== undefined &&
    shown.every(
      ({ leaf }) => leaf !== undefined && isSignedByOne(leaf, [authority]) && ageMs(leaf, nowMs) >= settleMs,
    );
  return {
    authority: authority === undefined ? 'make' : 'keep',
    leaves: shown.filter(isDue).map(({ kind }) => kind),
    alsoTrusted: haveMoved ? [] : [...new Set(former.map(String))],
  };
}

/** Undefined if it cannot be read, or the key is of another certificate. */
function readPair({ certificate, key }: KeyPair): X509Certificate | undefined {
  const read = readCertificate(certificate);
  try {
    return read?.checkPrivateKey(createPrivateKey(key)) === true ? read : undefined;
  } catch {
    return undefined;
  }
}

function readCertificate(pem: string): X509Certificate | undefined {
  try {
    return new X509Certificate(pem);
  } catch {
    return undefined;
  }
}

/** Until a new authority has settled too. */
function isUsable(leaf: X509Certificate, names: readonly string[], nowMs: number): boolean {
  return remainingMs(leaf, nowMs) > 2 * settleMs && names.every((name) => leaf.checkHost(name) !== undefined);
}

function isOld(leaf: X509Certificate, nowMs: number): boolean {
  return remainingMs(leaf, nowMs) <= (leafLifetimeMs * 2) / 3;
}

function isSignedByOne(leaf: X509Certificate, authorities: readonly X509Certificate[]): boolean {
  return authorities.some((one) => leaf.checkIssued(one) && leaf.verify(one.publicKey));
}

function remainingMs({ validToDate }: X509Certificate, nowMs: number): number {
  return validToDate.getTime() - nowMs;
}

function ageMs({ validFromDate }: X509Certificate, nowMs: number): number {
  return nowMs - validFromDate.getTime() - backdatedMs;
}
