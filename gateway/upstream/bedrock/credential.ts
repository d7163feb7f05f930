// With what is a request to Bedrock signed in? With a key of Bedrock in a header, or signed: with access keys, with the identity of this pod, or
// as a role that is assumed with either.

import { isMantle, regionOfBedrock } from '../../../core/catalog/bedrock-models.ts';
import { type AwsCredentials, parseAwsCredentials } from '../../../core/contract/aws-credentials.ts';
import type { Caller } from '../../request/caller.ts';
import { Secret } from '../../table/secret.ts';
import { type CredentialFor, type Given, type Lease, staticKey } from '../credential.ts';
import type { HostClocks } from '../identity/host-clocks.ts';
import type { Sign } from '../sign.ts';
import { takingOf } from './identity.ts';
import { judgeRefusal } from './refusal.ts';
import { type SessionTags, taggingOf } from './session-tags.ts';
import { signerFor } from './sign.ts';

export const bedrockCredential: CredentialFor = (provider, endpoint, means) => {
  const { host, entry } = provider;
  const { identity, roleArn } = entry.settings ?? {};
  const keys = endpoint.key && parseAwsCredentials(endpoint.key.secret.reveal());
  if (!keys && (endpoint.key || identity !== 'AWS')) return staticKey(provider, endpoint);
  const region = entry.settings?.region ?? regionOfBedrock(host);
  const service = isMantle(host) ? 'bedrock-mantle' : 'bedrock';
  const judge = judgeRefusal(host, means);
  const signedWith = (credentials: AwsCredentials): Pick<Lease, 'headers' | 'sign' | 'secrets'> => ({
    headers: [],
    sign: atTimeOf(means.clocks, signerFor(credentials, { region, service })),
    secrets: secretsOf(credentials),
  });
  if (keys && roleArn === undefined) {
    const lease: Lease = { endsAtMs: Number.POSITIVE_INFINITY, ...signedWith(keys) };
    const refuse = (_: Lease, ...[status, header]: Parameters<typeof judge>): Lease | undefined =>
      judge(status, header) === 'time' ? lease : undefined;
    return { lease, renew: () => Promise.resolve(lease), refuse };
  }
  const tagging = taggingOf(provider);
  const take = takingOf(means, provider, keys, region, tagging !== undefined);
  const exchangeWith = (tags: SessionTags) => async (): Promise<Given> => {
    const { credentials, ...more } = await take(tags);
    return { ...signedWith(credentials), ...more };
  };
  const sessions = tagging && {
    nameOf: tagging.nameOf,
    exchangeFor: (caller: Caller) => exchangeWith(tagging.tagsOf(caller)),
  };
  return means.renewed(provider, endpoint, exchangeWith(tagging?.own ?? {}), judge, sessions);
};

function atTimeOf(clocks: HostClocks, sign: Sign): Sign {
  return (request, bodyParts, nowMs) => sign(request, bodyParts, nowMs + clocks.offsetMs(request.host));
}

function secretsOf({ secretAccessKey, sessionToken }: AwsCredentials): readonly Secret[] {
  return [secretAccessKey, sessionToken].flatMap((text) => (text === undefined ? [] : [new Secret(text)]));
}
