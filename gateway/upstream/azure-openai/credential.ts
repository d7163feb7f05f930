// With what is a request to Azure signed in? With a token of Entra, which both surfaces take as a bearer; or with a key, which the OpenAI
// surface takes in `api-key` and the Anthropic surface in `x-api-key`.

import { type CredentialFor, type Lease, staticKey } from '../credential.ts';
import { entraCredential } from '../identity/entra/credential.ts';
import type { Sign } from '../sign.ts';

const ownHeader = 'api-key';

/** A header that the Provider names itself, such as that of an API gateway before the resource, is used for both. */
export const azureCredential: CredentialFor = (provider, endpoint, means) => {
  const entra = entraCredential(provider, endpoint, means);
  if (entra) return entra;
  const { auth } = provider.entry;
  if (auth?.header.toLowerCase() !== ownHeader || endpoint.key === undefined) {
    return staticKey(provider, endpoint);
  }
  const value = auth.prefix + endpoint.key.secret.reveal();
  const openAi = [ownHeader, value];
  const anthropic = ['x-api-key', value];
  const sign: Sign = ({ path }) => (path.includes('/anthropic/v1/') ? anthropic : openAi);
  const lease: Lease = { endsAtMs: Number.POSITIVE_INFINITY, headers: [], sign };
  return { lease, renew: () => Promise.resolve(lease) };
};
