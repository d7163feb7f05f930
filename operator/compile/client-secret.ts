// The secret of an Entra app, or its certificate with the private key: what of it goes to the gateways, and how?

import { createPrivateKey, X509Certificate } from 'node:crypto';
import type { SecretUse } from './checks/secret-use.ts';
import { clientCertificateInvalid, secretValueInvalid } from './checks/secret-value-invalid.ts';
import type { CredentialKind } from './credentials.ts';

export function clientSecretKind(use: SecretUse): CredentialKind {
  return {
    isValid: (value) => {
      if (!isPem(value)) return secretValueInvalid(use, value);
      const pair = readPair(value);
      return pair === undefined || !pair.isRsa
        ? clientCertificateInvalid(use, pair !== undefined)
        : undefined;
    },
    // One word, as the key of a service account is.
    write: (value) =>
      Buffer.from(JSON.stringify(isPem(value) ? readPair(value)?.written : { clientSecret: value })).toString(
        'base64',
      ),
  };
}

function isPem(value: string): boolean {
  return value.includes('-----BEGIN ');
}

interface Pair {
  readonly written: { readonly certificate: string; readonly privateKey: string };
  /** Entra takes no other: https://learn.microsoft.com/entra/identity-platform/certificate-credentials. */
  readonly isRsa: boolean;
}

/** Undefined where one of both is missing, cannot be read, or does not belong to the other. */
function readPair(value: string): Pair | undefined {
  const certificate = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/.exec(value)?.[0];
  const privateKey = /-----BEGIN ((?:RSA |EC )?PRIVATE KEY)-----[^-]+-----END \1-----/.exec(value)?.[0];
  if (certificate === undefined || privateKey === undefined) return undefined;
  try {
    const key = createPrivateKey(privateKey);
    if (!new X509Certificate(certificate).checkPrivateKey(key)) return undefined;
    return { written: { certificate, privateKey }, isRsa: key.asymmetricKeyType === 'rsa' };
  } catch {
    return undefined;
  }
}
