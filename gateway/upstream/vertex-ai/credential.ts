// With what is a request to Vertex AI signed in? With a token that Google gives for the key of a service account; in express mode with an
// API key.

import { createPrivateKey } from 'node:crypto';
import { SignJWT } from 'jose';
import { parseJson } from '../../../core/parse-json.ts';
import { asRecord } from '../../json/record.ts';
import { Secret } from '../../table/secret.ts';
import type { KeyedEndpoint, ProviderView } from '../../table/view.ts';
import { type CredentialFor, type CredentialMeans, type Given, staticKey } from '../credential.ts';
import { askForToken } from '../identity/ask-service.ts';
import { ExchangeError } from '../identity/exchange-error.ts';
import { bearer } from '../renewed-credential.ts';

export function vertexCredential(tokenUrl: URL): CredentialFor {
  return (provider, endpoint, means) =>
    provider.entry.auth?.header.toLowerCase() === 'authorization'
      ? means.renewed(provider, endpoint, () => exchange(provider, endpoint, means, tokenUrl))
      : staticKey(provider, endpoint);
}

const scope = 'https://www.googleapis.com/auth/cloud-platform';
const lifetimeS = 3_600;

/** RFC 7523, as https://developers.google.com/identity/protocols/oauth2/service-account#authorizingrequests has it. */
async function exchange(
  provider: ProviderView,
  { key }: KeyedEndpoint,
  { pools }: CredentialMeans,
  tokenUrl: URL,
): Promise<Given> {
  const account = readAccount(key?.secret);
  const nowS = Math.floor(Date.now() / 1000);
  const assertion = await new SignJWT({ scope })
    .setProtectedHeader({ alg: 'RS256', typ: 'JWT', ...(account.keyId === '' ? {} : { kid: account.keyId }) })
    .setIssuer(account.email)
    .setAudience('https://oauth2.googleapis.com/token')
    .setIssuedAt(nowS)
    .setExpirationTime(nowS + lifetimeS)
    .sign(createPrivateKey(account.privateKey.reveal()));
  const answer = await askForToken(pools.tokenPool(provider, tokenUrl.origin), tokenUrl, {
    grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
    assertion,
  });
  const { access_token: token, expires_in: lifetime } = answer;
  if (typeof token !== 'string' || !/^[!-~]+$/.test(token))
    throw new ExchangeError(`${tokenUrl.host} gave no token`, true);
  return bearer(new Secret(token), typeof lifetime === 'number' ? lifetime * 1000 : 0, account.email);
}

/** As the operator has checked it and written it down: in base64, so that it is one word. */
function readAccount(secret: Secret | undefined) {
  const account = asRecord(parseJson(Buffer.from(secret?.reveal() ?? '', 'base64').toString('utf8')));
  const { client_email: email, private_key: privateKey, private_key_id: keyId } = account ?? {};
  if (typeof email !== 'string' || typeof privateKey !== 'string')
    throw new ExchangeError('the key is of no service account', true);
  return { email, privateKey: new Secret(privateKey), keyId: typeof keyId === 'string' ? keyId : '' };
}
