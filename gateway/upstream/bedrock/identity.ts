// With which credentials of AWS is a Provider reached that has a role, or no key at all? With those of the pod, or with its own keys; through
// the role that it names.

import { hash } from 'node:crypto';
import { type AwsCredentials, areAwsCredentials } from '../../../core/contract/aws-credentials.ts';
import type { ProviderView } from '../../table/view.ts';
import type { CredentialMeans } from '../credential.ts';
import { ExchangeError } from '../identity/exchange-error.ts';
import { readProjected } from '../identity/projected-file.ts';
import { askContainerAgent } from './container.ts';
import type { SessionTags } from './session-tags.ts';
import { assumeRole, assumeWithToken, type Sts } from './sts.ts';
import type { Temporary } from './temporary.ts';

/**
 * @param keys Of the Provider; undefined: the pod's.
 * @param region Of its host; empty: unknown.
 * @param tags Of the session of the role.
 */
export async function takeCredentials(
  means: CredentialMeans,
  provider: ProviderView,
  keys: AwsCredentials | undefined,
  region: string,
  tags: SessionTags,
): Promise<Temporary> {
  const sessionName = sessionNameOf(provider.entry.id);
  // The pod's role is of the partition that the pod runs in.
  const stsRegion = keys ? region : (means.environment.AWS_REGION ?? region);
  const own = keys
    ? { credentials: keys, lifetimeMs: Number.POSITIVE_INFINITY }
    : await podCredentials(means, provider, sessionName, stsRegion);
  const { roleArn, externalId } = provider.entry.settings ?? {};
  if (roleArn === undefined) return own;
  const sts = stsOf(means, provider, stsRegion);
  return assumeRole(sts, { arn: roleArn, sessionName, externalId, tags }, own.credentials);
}

/** In the order in which the libraries of AWS look for them. */
async function podCredentials(
  means: CredentialMeans,
  provider: ProviderView,
  sessionName: string,
  region: string,
): Promise<Temporary> {
  const {
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
    AWS_SESSION_TOKEN: sessionToken,
    AWS_ROLE_ARN: arn,
    AWS_WEB_IDENTITY_TOKEN_FILE: file,
    AWS_CONTAINER_CREDENTIALS_FULL_URI: address,
  } = means.environment;
  if (accessKeyId !== undefined && secretAccessKey !== undefined) {
    const credentials = {
      accessKeyId,
      secretAccessKey,
      ...(sessionToken === undefined ? {} : { sessionToken }),
    };
    if (!areAwsCredentials(credentials))
      throw new ExchangeError(
        'The access keys in the environment are not valid. Correct AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.',
        true,
      );
    return { credentials, lifetimeMs: Number.POSITIVE_INFINITY };
  }
  if (arn !== undefined && file !== undefined)
    return assumeWithToken(stsOf(means, provider, region), { arn, sessionName }, () =>
      readProjected(file, 'The projected token'),
    );
  if (address !== undefined) return askContainerAgent(means, address);
  throw new ExchangeError(
    'The gateway has no AWS identity. Give its ServiceAccount a role, or a pod identity association.',
    true,
  );
}

function stsOf(means: CredentialMeans, provider: ProviderView, region: string): Sts {
  const { pools, environment, clocks, nowMs } = means;
  const { AWS_ENDPOINT_URL_STS: said } = environment;
  if (!/^[a-z0-9-]{1,40}$/.test(region))
    throw new ExchangeError('The region of the token service is unknown. Set options.region.', true);
  const url = new URL(said ?? `https://sts.${region}.${suffixOf(region)}/`);
  const pool = said === undefined ? pools.tokenPool(provider, url.origin) : pools.platformPool(url.origin);
  return { pool, url, region, clocks, nowMs };
}

/** Of each partition: https://docs.aws.amazon.com/whitepapers/latest/aws-fault-isolation-boundaries/partitions.html */
function suffixOf(region: string): string {
  return suffixes.find(([start]) => region.startsWith(start))?.[1] ?? 'amazonaws.com';
}

const suffixes: readonly (readonly [string, string])[] = [
  ['cn-', 'amazonaws.com.cn'],
  ['eusc-', 'amazonaws.eu'],
  ['us-iso-', 'c2s.ic.gov'],
  ['us-isob-', 'sc2s.sgov.gov'],
  ['us-isof-', 'csp.hci.ic.gov'],
  ['eu-isoe-', 'cloud.adc-e.uk'],
];

/** `namespace.name`, where AWS allows 64 characters and no slash; a namespace has no dot. */
function sessionNameOf(providerId: string): string {
  const name = providerId.replace('/', '.');
  return name.length <= 64 ? name : `${name.slice(0, 55)}-${hash('sha256', name, 'hex').slice(0, 8)}`;
}
