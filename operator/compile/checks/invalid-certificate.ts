// Can the certificates be used, now?

import type { X509Certificate } from 'node:crypto';
import { type CertificatesRead, fitsKey, invalidAt } from '../certificates.ts';
import type { Finding } from '../verdict.ts';

interface CertificateUse {
  /** `spec.tls.caRef`. */
  readonly field: string;
  /** `ConfigMap internal-ca`. */
  readonly object: string;
  readonly key: string;
}

/** One valid certificate of a bundle is enough: bundles outlive some of their members. */
export function invalidAuthority(
  use: CertificateUse,
  read: CertificatesRead,
  nowMs: number,
): Finding | undefined {
  if (read.kind === 'unreadable') return invalid(use, read.fact, 'write PEM certificates there');
  const facts = read.certificates.map((certificate) => invalidAt(certificate, nowMs));
  if (facts.includes(undefined)) return undefined;
  return invalid(use, `holds a certificate that ${facts[0]}`, 'renew it');
}

/** @param key the private key, in PEM. */
export function invalidClientCertificate(
  use: CertificateUse,
  read: CertificatesRead,
  key: string,
  nowMs: number,
): Finding | undefined {
  if (read.kind === 'unreadable')
    return invalid(use, read.fact, 'write the PEM certificate there, the leaf first');
  const [leaf] = read.certificates;
  return leaf === undefined ? undefined : (misfit(use, leaf, key) ?? late(use, leaf, nowMs));
}

function misfit(use: CertificateUse, leaf: X509Certificate, key: string): Finding | undefined {
  switch (fitsKey(leaf, key)) {
    case 'fits':
      return undefined;
    case 'other':
      return invalid(
        use,
        'holds a certificate that does not match the key under tls.key',
        'write a matching pair',
      );
    case 'unreadable':
      return invalid(
        use,
        'cannot be checked: the key under tls.key cannot be read',
        'write a PEM private key without a passphrase',
      );
  }
}

function late(use: CertificateUse, leaf: X509Certificate, nowMs: number): Finding | undefined {
  const fact = invalidAt(leaf, nowMs);
  return fact === undefined ? undefined : invalid(use, `holds a certificate that ${fact}`, 'renew it');
}

function invalid({ field, object, key }: CertificateUse, fact: string, wayOut: string): Finding {
  return { reason: 'InvalidCertificate', message: `${field}: ${key} in ${object} ${fact}; ${wayOut}` };
}
