// Parses PEM texts once into certificates and their expiry; checks use the result.

import { createPrivateKey, X509Certificate } from 'node:crypto';

export type CertificatesRead =
  | { readonly kind: 'read'; readonly certificates: readonly X509Certificate[] }
  /** Half a sentence: "…, which holds no certificate". Never with what was read: it may be a key. */
  | { readonly kind: 'unreadable'; readonly fact: string };

const BLOCK = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

/** Text around and between certificates is dropped, so that a private key among them is never published. */
export function readCertificates(text: string): CertificatesRead {
  const blocks = text.match(BLOCK) ?? [];
  if (blocks.length === 0) return { kind: 'unreadable', fact: 'holds no PEM certificate' };
  const certificates: X509Certificate[] = [];
  for (const [index, block] of blocks.entries()) {
    try {
      certificates.push(new X509Certificate(block));
    } catch {
      return { kind: 'unreadable', fact: `has a certificate (number ${index + 1}) that cannot be read` };
    }
  }
  return { kind: 'read', certificates };
}

/** Each once, in their order. */
export function toPem(certificates: readonly X509Certificate[]): string {
  return [...new Set(certificates.map((certificate) => certificate.toString()))].join('');
}

export function fitsKey(certificate: X509Certificate, key: string): 'fits' | 'other' | 'unreadable' {
  try {
    return certificate.checkPrivateKey(createPrivateKey(key)) ? 'fits' : 'other';
  } catch {
    return 'unreadable';
  }
}

/** When what it may be used for changes: Unix milliseconds. */
export function turnsOf({ validFromDate, validToDate }: X509Certificate): number[] {
  return [validFromDate.getTime(), validToDate.getTime() + 1];
}

/** Undefined where it is valid at that time; else half a sentence. */
export function invalidAt(
  { validFromDate, validToDate }: X509Certificate,
  nowMs: number,
): string | undefined {
  if (nowMs > validToDate.getTime()) return `expired at ${validToDate.toISOString()}`;
  if (nowMs < validFromDate.getTime()) return `is not valid before ${validFromDate.toISOString()}`;
  return undefined;
}
