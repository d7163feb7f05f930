// In which header does the Gemini API take its key? Its own dialect in `x-goog-api-key`, OpenAI's as a bearer.

import { type Credential, type CredentialFor, type Lease, staticKey } from '../credential.ts';
import type { Sign } from '../sign.ts';

const ownHeader = 'x-goog-api-key';

/** A header that the Provider names itself, such as that of an API gateway before Google, is used for both. */
export const geminiKey: CredentialFor = (provider, endpoint): Credential => {
  const { auth } = provider.entry;
  if (auth?.header.toLowerCase() !== ownHeader || endpoint.key === undefined) {
    return staticKey(provider, endpoint);
  }
  const value = auth.prefix + endpoint.key.secret.reveal();
  const own = [ownHeader, value];
  const openAi = ['authorization', `Bearer ${value}`];
  const sign: Sign = ({ path }) => (path.includes('/openai/') ? openAi : own);
  const lease: Lease = { endsAtMs: Number.POSITIVE_INFINITY, headers: [], sign };
  return { lease, renew: () => Promise.resolve(lease) };
};
