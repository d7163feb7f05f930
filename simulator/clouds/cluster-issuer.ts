// Who vouches for a pod? The issuer of a cluster: it signs tokens for service accounts, and clouds verify them with its public key.

import { generateKeyPairSync, sign, verify } from 'node:crypto';
import { isBag } from '../checks.ts';

interface TokenClaims {
  readonly audience: string;
  /** Default: the service account of the gateways. */
  readonly subject?: string;
  /** Default: an hour. Negative: it has ended. */
  readonly lifetimeS?: number;
}

export interface ClusterIssuer {
  readonly issuer: string;
  readonly subject: string;
  /** As kubelet writes it into a projected file. */
  token(claims: TokenClaims): string;
  /** The claims that it has signed; undefined: not its signature. */
  read(token: string): Readonly<Record<string, unknown>> | undefined;
}

export function clusterIssuer(issuer = 'https://oidc.cluster.example'): ClusterIssuer {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const subject = 'system:serviceaccount:penstock-system:penstock-gateway';
  let made = 0;
  return {
    issuer,
    subject,
    token({ audience, subject: other, lifetimeS = 3600 }) {
      made += 1;
      const nowS = Math.floor(Date.now() / 1000);
      const claims = {
        ...{ iss: issuer, sub: other ?? subject, aud: [audience], jti: `token-${made}` },
        ...{ iat: nowS - 1, nbf: nowS - 1, exp: nowS + lifetimeS },
      };
      const signed = `${part({ alg: 'RS256', kid: 'cluster' })}.${part(claims)}`;
      return `${signed}.${sign('RSA-SHA256', Buffer.from(signed), privateKey).toString('base64url')}`;
    },
    read(token) {
      const [head = '', claims = '', signature = ''] = token.split('.');
      const signed = Buffer.from(`${head}.${claims}`);
      if (!verify('RSA-SHA256', signed, publicKey, Buffer.from(signature, 'base64url'))) return undefined;
      const said: unknown = JSON.parse(Buffer.from(claims, 'base64url').toString());
      return isBag(said) ? said : undefined;
    },
  };
}

/** Whether the claim names it, alone or in a list. */
export function isFor(audience: unknown, expected: string): boolean {
  return audience === expected || (Array.isArray(audience) && audience.includes(expected));
}

function part(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}
