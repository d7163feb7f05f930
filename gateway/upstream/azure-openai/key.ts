// In which header does Azure take its key? The OpenAI surface in `api-key`, the Anthropic surface in `x-api-key`.

import { type Credential, type CredentialFor, type Lease, staticKey } from '../credential.ts';
import type { Sign } from '../sign.ts';

const ownHeader = 'api-key';

/** A header that the Provider names itself, such as that of an API gateway before the resource, is used for both. */
export const azureKey: CredentialFor = (provider, endpoint): Credential => {
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
