// With what is a request to Vertex AI signed in? With a token that Google gives for the key of a service account; in express mode with an
// API key.

import { createPrivateKey } from 'node:crypto';
import { SignJWT } from 'jose';
import { parseJson } from '../../../core/parse-json.ts';
import { asRecord } from '../../json/record.ts';
import { Secret } from '../../table/secret.ts';
import type { KeyedEndpoint, ProviderView } from '../../table/view.ts';
import { type CredentialFor, staticKey } from '../credential.ts';
import { type GivenToken, TokenCredential } from '../token-credential.ts';
import { askForToken, type TokenPools } from '../token-request.ts';

/** By key and its version: tables change more often. */
export function vertexCredential(tokenUrl: URL): CredentialFor {
  const known = new Map<string, TokenCredential>();
  return (provider, endpoint, pools) => {
    if (provider.entry.auth?.header.toLowerCase() !== 'authorization') return staticKey(provider, endpoint);
    for (const [id, { isUnused }] of known) if (isUnused) known.delete(id);
    const credential =
      known.get(endpoint.healthId) ??
      new TokenCredential(() => exchange(provider, endpoint, pools, tokenUrl));
    known.set(endpoint.healthId, credential);
    return credential;
  };
}

const scope = 'https://www.googleapis.com/auth/cloud-platform';
const lifetimeS = 3_600;

/** RFC 7523, as https://developers.google.com/identity/protocols/oauth2/service-account#authorizingrequests has it. */
async function exchange(
  provider: ProviderView,
  { key }: KeyedEndpoint,
  pools: TokenPools,
  tokenUrl: URL,
): Promise<GivenToken> {
  const account = readAccount(key?.secret);
  const nowS = Math.floor(Date.now() / 1000);
  const assertion = await new SignJWT({ scope })
    .setProtectedHeader({ alg: 'RS256', typ: 'JWT', ...(account.keyId === '' ? {} : { kid: account.keyId }) })
    .setIssuer(account.email)
    .setAudience('https://oauth2.googleapis.com/token')
    .setIssuedAt(nowS)
    .setExpirationTime(nowS + lifetimeS)
    .sign(createPrivateKey(account.privateKey.reveal()));
  const answer = await askForToken(pools, provider, tokenUrl, {
    grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
    assertion,
  });
  const { access_token: token, expires_in: lifetime } = answer;
  if (typeof token !== 'string' || !/^[!-~]+$/.test(token)) throw new Error(`${tokenUrl.host} gave no token`);
  return { token: new Secret(token), lifetimeMs: typeof lifetime === 'number' ? lifetime * 1000 : 0 };
}

/** As the operator has checked it and written it down: in base64, so that it is one word. */
function readAccount(secret: Secret | undefined) {
  const account = asRecord(parseJson(Buffer.from(secret?.reveal() ?? '', 'base64').toString('utf8')));
  const { client_email: email, private_key: privateKey, private_key_id: keyId } = account ?? {};
  if (typeof email !== 'string' || typeof privateKey !== 'string')
    throw new Error('the key is of no service account');
  return { email, privateKey: new Secret(privateKey), keyId: typeof keyId === 'string' ? keyId : '' };
}
