// With what is a request to the Gemini API signed in? With a key, which its own dialect takes in `x-goog-api-key` and OpenAI's as a bearer; or
// with a token of Google, which both take as a bearer.

import type { CredentialFor, Lease } from '../credential.ts';
import { googleCredential } from '../identity/google/credential.ts';
import type { GoogleServices } from '../identity/google/services.ts';
import type { Sign } from '../sign.ts';

const ownHeader = 'x-goog-api-key';

/** A header that the Provider names itself, such as that of an API gateway before Google, is used for both. */
export function geminiCredential(services: GoogleServices): CredentialFor {
  const tokenOrStatic = googleCredential(services);
  return (provider, endpoint, means) => {
    const { auth } = provider.entry;
    if (auth?.header.toLowerCase() !== ownHeader || endpoint.key === undefined) {
      return tokenOrStatic(provider, endpoint, means);
    }
    const value = auth.prefix + endpoint.key.secret.reveal();
    const own = [ownHeader, value];
    const openAi = ['authorization', `Bearer ${value}`];
    const sign: Sign = ({ path }) => (path.includes('/openai/') ? openAi : own);
    const lease: Lease = { endsAtMs: Number.POSITIVE_INFINITY, headers: [], sign };
    return { lease, renew: () => Promise.resolve(lease) };
  };
}
