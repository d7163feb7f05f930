// Which certificates do not prove the name `api.example`, and what does the system call each of them?

import { type CertificateOptions, type Identity, makeCertificate } from './certificates.ts';

export interface BadCertificate {
  readonly what: string;
  readonly certificate: CertificateOptions;
  readonly systemCode: string;
  /** In what a person is reported. */
  readonly sentence: RegExp;
}

const past = (days: number) => new Date(Date.now() - days * 86_400_000);
const named = { name: 'api.example', dnsNames: ['api.example'] };

/** @param ca the authority that is trusted. */
export function badCertificates(ca: Identity): readonly BadCertificate[] {
  return [
    {
      what: 'self-signed',
      certificate: named,
      systemCode: 'DEPTH_ZERO_SELF_SIGNED_CERT',
      sentence: /unknown authority/,
    },
    {
      what: 'signed by an unknown authority',
      certificate: { ...named, issuer: makeCertificate({ name: 'other authority', isCa: true }) },
      systemCode: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
      sentence: /unknown authority/,
    },
    {
      what: 'for another name',
      certificate: { name: 'other.example', dnsNames: ['other.example'], issuer: ca },
      systemCode: 'ERR_TLS_CERT_ALTNAME_INVALID',
      sentence: /for another name/,
    },
    {
      what: 'for another name, with ours only as common name',
      certificate: { name: 'api.example', dnsNames: ['other.example'], issuer: ca },
      systemCode: 'ERR_TLS_CERT_ALTNAME_INVALID',
      sentence: /for another name/,
    },
    {
      what: 'expired',
      certificate: { ...named, issuer: ca, notBefore: past(9), notAfter: past(2) },
      systemCode: 'CERT_HAS_EXPIRED',
      sentence: /has expired/,
    },
    {
      what: 'not valid yet',
      certificate: { ...named, issuer: ca, notBefore: past(-2), notAfter: past(-9) },
      systemCode: 'CERT_NOT_YET_VALID',
      sentence: /not valid yet/,
    },
  ];
}
