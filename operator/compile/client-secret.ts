// The secret of an Entra app, or its certificate with the private key: what of it goes to the gateways, and how?

import { createPrivateKey, X509Certificate } from 'node:crypto';
import type { SecretUse } from './checks/secret-use.ts';
import { clientCertificateInvalid, secretValueInvalid } from './checks/secret-value-invalid.ts';
import type { CredentialKind } from './credentials.ts';

export function clientSecretKind(use: SecretUse): CredentialKind {
  return {
    isValid: (value) => {
      if (!isPem(value)) return secretValueInvalid(use, value);
      return readPair(value) === undefined ? clientCertificateInvalid(use) : undefined;
    },
    // One word, as the key of a service account is.
    write: (value) =>
      Buffer.from(JSON.stringify(isPem(value) ? readPair(value) : { clientSecret: value })).toString(
        'base64',
      ),
  };
}

function isPem(value: string): boolean {
  return value.includes('-----BEGIN ');
}

interface Pair {
  readonly certificate: string;
  readonly privateKey: string;
}

/** Undefined where one of both is missing, cannot be read, or does not belong to the other. */
function readPair(value: string): Pair | undefined {
  const certificate = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/.exec(value)?.[0];
  const privateKey = /-----BEGIN ((?:RSA )?PRIVATE KEY)-----[^-]+-----END \1-----/.exec(value)?.[0];
  if (certificate === undefined || privateKey === undefined) return undefined;
  try {
    const isPair = new X509Certificate(certificate).checkPrivateKey(createPrivateKey(privateKey));
    return isPair ? { certificate, privateKey } : undefined;
  } catch {
    return undefined;
  }
}
