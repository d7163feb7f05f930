// How is a token of Google asked for, and what did its services answer? For a claim that is signed with the key of a service account, for the
// token of a pod, of the metadata server of GKE; and for a token that may act as a service account, one of that account.

import { createPrivateKey } from 'node:crypto';
import { SignJWT } from 'jose';
import { parseJson } from '../../../../core/parse-json.ts';
import { asRecord, type JsonRecord } from '../../../json/record.ts';
import { type AccessToken, readAccessToken } from '../access-token.ts';
import { type AskService, formOf, type ServiceAnswer } from '../ask-service.ts';
import { ExchangeError } from '../exchange-error.ts';
import { type RefusalWords, refused } from '../refusals.ts';
import type { FederatedFile, ServiceAccount } from './credential-file.ts';
import { accountRefusals, federationRefusals, impersonationRefusals, metadataRefusals } from './refusals.ts';
import { cloudScope, type GoogleServices, lifetimeS } from './services.ts';

/** RFC 7523, as https://developers.google.com/identity/protocols/oauth2/service-account#authorizingrequests has it. */
export async function exchangeClaim(
  ask: AskService,
  services: GoogleServices,
  account: ServiceAccount,
  nowMs: number,
): Promise<AccessToken> {
  const url = new URL(services.oauth2);
  const assertion = await claimOf(account, Math.floor(nowMs / 1000));
  const form = { grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion };
  return readOauth(accountRefusals, url, await ask(url, formOf(form)));
}

async function claimOf({ email, privateKey, keyId }: ServiceAccount, nowS: number): Promise<string> {
  const kid = keyId === undefined ? {} : { kid: keyId };
  try {
    return await new SignJWT({ scope: cloudScope })
      .setProtectedHeader({ alg: 'RS256', typ: 'JWT', ...kid })
      .setIssuer(email)
      .setAudience('https://oauth2.googleapis.com/token')
      .setIssuedAt(nowS)
      .setExpirationTime(nowS + lifetimeS)
      .sign(createPrivateKey(privateKey.reveal()));
  } catch {
    throw new ExchangeError(
      'The private key of the service account cannot be read. Create another key.',
      true,
    );
  }
}

/** RFC 8693, as https://docs.cloud.google.com/iam/docs/reference/sts/rest/v1/TopLevel/token has it. */
export async function exchangeFederated(
  ask: AskService,
  services: GoogleServices,
  { audience, subjectTokenType }: FederatedFile,
  subjectToken: string,
): Promise<AccessToken> {
  const url = new URL(services.sts);
  const form = {
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    audience,
    scope: cloudScope,
    requested_token_type: 'urn:ietf:params:oauth:token-type:access_token',
    subject_token_type: subjectTokenType,
    subject_token: subjectToken,
  };
  return readOauth(federationRefusals, url, await ask(url, formOf(form)));
}

const metadataPath = '/computeMetadata/v1/instance/service-accounts/default';
const metadataHeaders = { 'metadata-flavor': 'Google' };

/** https://docs.cloud.google.com/kubernetes-engine/docs/concepts/workload-identity */
export async function askMetadata(ask: AskService, host: string): Promise<AccessToken> {
  const url = new URL(`http://${host}${metadataPath}/token`);
  const answer = await ask(url, { method: 'GET', headers: metadataHeaders });
  // guard: google-metadata-flavor
  if (answer.header('metadata-flavor') !== 'Google')
    throw new ExchangeError(
      `${host} is not a Google metadata server. Enable Workload Identity on GKE, or set GOOGLE_APPLICATION_CREDENTIALS.`,
      true,
    );
  if (answer.status !== 200) throw refused(metadataRefusals, url, answer.status, String(answer.status));
  return readOauth([], url, answer);
}

/** E-mail address of the service account; undefined: not known. */
export async function askMetadataEmail(ask: AskService, host: string): Promise<string | undefined> {
  const url = new URL(`http://${host}${metadataPath}/email`);
  const { status, text } = await ask(url, { method: 'GET', headers: metadataHeaders });
  return status === 200 && /^[!-~]{1,254}$/.test(text.trim()) ? text.trim() : undefined;
}

/** https://docs.cloud.google.com/iam/docs/reference/credentials/rest/v1/projects.serviceAccounts/generateAccessToken */
export async function impersonate(
  ask: AskService,
  services: GoogleServices,
  caller: AccessToken,
  email: string,
  nowMs: () => number,
): Promise<AccessToken> {
  const account = encodeURIComponent(email).replaceAll('%40', '@');
  const url = new URL(
    `/v1/projects/-/serviceAccounts/${account}:generateAccessToken`,
    services.iamCredentials,
  );
  const answer = await ask(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${caller.token.reveal()}` },
    body: JSON.stringify({ scope: [cloudScope], lifetime: `${lifetimeS}s` }),
  });
  const { accessToken, expireTime, error } = membersOf(answer);
  if (answer.status !== 200) {
    const { status, message } = asRecord(error) ?? {};
    throw refused(impersonationRefusals, url, answer.status, String(status), String(message));
  }
  const lifetimeMs = Date.parse(String(expireTime)) - nowMs();
  // By a clock that is slow it would be kept beyond its end.
  return readAccessToken(url, accessToken, Math.min(lifetimeMs, lifetimeS * 1000));
}

function readOauth(rows: readonly RefusalWords[], url: URL, answer: ServiceAnswer): AccessToken {
  const { access_token: token, expires_in: seconds, error, error_description: said } = membersOf(answer);
  if (answer.status !== 200) throw refused(rows, url, answer.status, String(error), String(said));
  return readAccessToken(url, token, Number(seconds) * 1000);
}

function membersOf({ text }: ServiceAnswer): JsonRecord {
  return asRecord(parseJson(text)) ?? {};
}
