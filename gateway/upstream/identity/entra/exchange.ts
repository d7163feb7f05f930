// How is a token of Entra ID asked for? One form; the proof in it is the token of a pod, a client secret, or a claim that is signed with the
// key of a certificate. https://learn.microsoft.com/entra/identity-platform/v2-oauth2-client-creds-grant-flow

import { createPrivateKey, randomUUID, X509Certificate } from 'node:crypto';
import { SignJWT } from 'jose';
import { parseJson } from '../../../../core/parse-json.ts';
import { asRecord } from '../../../json/record.ts';
import type { Secret } from '../../../table/secret.ts';
import { type AccessToken, readAccessToken } from '../access-token.ts';
import { type AskService, formOf } from '../ask-service.ts';
import { ExchangeError } from '../exchange-error.ts';
import { refused } from '../refusals.ts';
import { entraRefusals } from './refusals.ts';

interface EntraApp {
  readonly tenantId: string;
  readonly clientId: string;
  readonly scope: string;
  /** With a slash at its end. */
  readonly authority: string;
}

export type Proof =
  | { readonly kind: 'pod-token'; readonly token: string }
  | { readonly kind: 'secret'; readonly secret: Secret }
  | { readonly kind: 'certificate'; readonly certificate: string; readonly privateKey: Secret };

export async function exchangeProof(
  ask: AskService,
  app: EntraApp,
  proof: Proof,
  nowMs: number,
): Promise<AccessToken> {
  const { tenantId, clientId, scope, authority } = app;
  const url = new URL(`${encodeURIComponent(tenantId)}/oauth2/v2.0/token`, authority);
  const proven = await membersOf(proof, clientId, url, nowMs);
  const form = { grant_type: 'client_credentials', client_id: clientId, scope, ...proven };
  const { status, text } = await ask(url, formOf(form));
  const {
    access_token: token,
    expires_in: seconds,
    error,
    error_codes: codes,
  } = asRecord(parseJson(text)) ?? {};
  if (status === 200) return readAccessToken(url, token, Number(seconds) * 1000);
  const [number]: unknown[] = Array.isArray(codes) ? codes : [];
  throw refused(entraRefusals, url, status, Number.isSafeInteger(number) ? `AADSTS${number}` : String(error));
}

async function membersOf(
  proof: Proof,
  clientId: string,
  url: URL,
  nowMs: number,
): Promise<Readonly<Record<string, string>>> {
  if (proof.kind === 'secret') return { client_secret: proof.secret.reveal() };
  return {
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion: proof.kind === 'pod-token' ? proof.token : await claimOf(proof, clientId, url, nowMs),
  };
}

/** Longer ones are refused. */
const claimS = 300;

/** https://learn.microsoft.com/entra/identity-platform/certificate-credentials */
async function claimOf(
  { certificate, privateKey }: Extract<Proof, { kind: 'certificate' }>,
  clientId: string,
  { href }: URL,
  nowMs: number,
): Promise<string> {
  const nowS = Math.floor(nowMs / 1000);
  try {
    const { fingerprint256 } = new X509Certificate(certificate);
    const thumbprint = Buffer.from(fingerprint256.replaceAll(':', ''), 'hex').toString('base64url');
    return await new SignJWT({})
      .setProtectedHeader({ alg: 'PS256', typ: 'JWT', 'x5t#S256': thumbprint })
      .setIssuer(clientId)
      .setSubject(clientId)
      .setAudience(href)
      .setJti(randomUUID())
      .setIssuedAt(nowS)
      .setNotBefore(nowS)
      .setExpirationTime(nowS + claimS)
      .sign(createPrivateKey(privateKey.reveal()));
  } catch {
    throw new ExchangeError(
      'The certificate or its private key cannot be read. Write both in PEM, the key an RSA key.',
      true,
    );
  }
}
