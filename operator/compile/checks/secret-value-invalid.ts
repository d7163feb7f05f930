// Can the value be sent in an HTTP header unchanged?

import type { Finding } from '../verdict.ts';
import type { SecretUse } from './secret-use.ts';

// Visible ASCII, with single spaces or more only inside (RFC 9110 §5.5).
const FIELD_VALUE = /^[!-~]([ -~]*[!-~])?$/;

/** The value itself is never part of the message. */
export function secretValueInvalid(use: SecretUse, value: string): Finding | undefined {
  if (FIELD_VALUE.test(value)) return undefined;
  return {
    reason: 'SecretValueInvalid',
    message:
      `${use.field}: the value of ${use.key} in Secret ${use.secret} has line breaks, outer spaces or characters that ` +
      'are not allowed in a header; write the bare key, for example with kubectl create secret --from-literal',
  };
}

/** A user name with a colon would end at it (RFC 7617 §2), and SOCKS5 carries 255 bytes (RFC 1929). */
export function proxyCredentialInvalid(use: SecretUse, value: string): Finding | undefined {
  const isSplit = use.key === 'username' && value.includes(':');
  if (FIELD_VALUE.test(value) && !isSplit && value.length <= 255) return undefined;
  return {
    reason: 'SecretValueInvalid',
    message:
      `${use.field}: the value of ${use.key} in Secret ${use.secret} cannot be given to a proxy; write at most 255 ` +
      `characters of printable ASCII, without outer spaces${use.key === 'username' ? ' and without a colon' : ''}`,
  };
}

/** @param member Of the key, which is wrong; empty: the value is no JSON object. The value itself is never part of the message. */
export function serviceAccountInvalid(use: SecretUse, member: string): Finding {
  const what = member === '' ? 'is not a JSON object' : `has no valid ${member}`;
  return {
    reason: 'SecretValueInvalid',
    message:
      `${use.field}: the value of ${use.key} in Secret ${use.secret} ${what}; write the JSON key of a service account as issued by ` +
      "Google, with Google's own token_uri",
  };
}

/** Neither the certificate nor the key is part of the message. @param isPair They belong together, and the key is no RSA key. */
export function clientCertificateInvalid(use: SecretUse, isPair: boolean): Finding {
  const where = `${use.field}: the value of ${use.key} in Secret ${use.secret}`;
  return {
    reason: 'SecretValueInvalid',
    message: isPair
      ? `${where} has a private key that is not RSA, and Entra accepts only RSA. Make a certificate with an RSA key, or write a client secret`
      : `${where} holds no RSA private key with its certificate; write both in PEM, without a passphrase, or write a client secret`,
  };
}
