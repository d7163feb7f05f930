// With what is a request to Bedrock signed in? With a key of Bedrock in a header, or signed with access keys.

import { parseAwsCredentials } from '../../../core/contract/aws-credentials.ts';
import { Secret } from '../../table/secret.ts';
import { type CredentialFor, type Lease, staticKey } from '../credential.ts';
import { signerFor } from './sign.ts';

export const bedrockCredential: CredentialFor = (provider, endpoint) => {
  const credentials = endpoint.key && parseAwsCredentials(endpoint.key.secret.reveal());
  if (!credentials) return staticKey(provider, endpoint);
  const { host, entry } = provider;
  const region = entry.settings?.region ?? regionOf(host);
  const service = /(^|\.)bedrock-mantle\./.test(host) ? 'bedrock-mantle' : 'bedrock';
  const { secretAccessKey, sessionToken } = credentials;
  const lease: Lease = {
    endsAtMs: Number.POSITIVE_INFINITY,
    headers: [],
    sign: signerFor(credentials, { region, service }),
    secrets: [secretAccessKey, sessionToken].flatMap((text) =>
      text === undefined ? [] : [new Secret(text)],
    ),
  };
  return { lease, renew: () => Promise.resolve(lease) };
};

/** Also of the host of a VPC endpoint. The operator refuses a host without a region where the Provider names none. */
function regionOf(host: string): string {
  return /bedrock-(?:runtime|mantle)(?:-fips)?\.([a-z0-9-]+)\./.exec(host)?.[1] ?? '';
}
