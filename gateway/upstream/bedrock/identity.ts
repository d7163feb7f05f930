// With which credentials of AWS is a Provider reached that has a role, or no key at all? With those of the pod, or with its own keys; through
// the role that it names.

import { hash } from 'node:crypto';
import { type AwsCredentials, areAwsCredentials } from '../../../core/contract/aws-credentials.ts';
import type { ProviderView } from '../../table/view.ts';
import type { CredentialMeans, Given, Lease } from '../credential.ts';
import { ExchangeError } from '../identity/exchange-error.ts';
import { readProjected } from '../identity/projected-file.ts';
import { RenewedCredential } from '../renewed-credential.ts';
import { askContainerAgent } from './container.ts';
import type { SessionTags } from './session-tags.ts';
import { signerFor } from './sign.ts';
import { assumeRole, assumeWithToken, type Sts } from './sts.ts';
import type { Temporary } from './temporary.ts';

/** @throws {ExchangeError} */
type TakeCredentials = (tags: SessionTags) => Promise<Temporary>;

/**
 * @param keys Of the Provider; undefined: the pod's.
 * @param region Of its host; empty: unknown.
 * @param isShared Many sessions of the role are taken: what they are asked for with is kept.
 */
export function takingOf(
  means: CredentialMeans,
  provider: ProviderView,
  keys: AwsCredentials | undefined,
  region: string,
  isShared: boolean,
): TakeCredentials {
  const sessionName = sessionNameOf(provider.entry.id);
  // The pod's role is of the partition that the pod runs in.
  const stsRegion = keys ? region : (means.environment.AWS_REGION ?? region);
  const takeOwn = async (): Promise<Temporary> =>
    keys
      ? { credentials: keys, lifetimeMs: Number.POSITIVE_INFINITY }
      : podCredentials(means, provider, sessionName, stsRegion);
  const { roleArn: arn, externalId } = provider.entry.settings ?? {};
  if (arn === undefined) return takeOwn;
  const signToSts = async (): Promise<Given> => {
    const { credentials, lifetimeMs } = await takeOwn();
    return { headers: [], lifetimeMs, sign: signerFor(credentials, { region: stsRegion, service: 'sts' }) };
  };
  const assume = (tags: SessionTags, { sign }: Pick<Lease, 'sign'>): Promise<Temporary> =>
    assumeRole(stsOf(means, provider, stsRegion), { arn, sessionName, externalId, tags }, sign);
  if (!isShared) return async (tags) => assume(tags, await signToSts());
  const own = new RenewedCredential(signToSts, means.nowMs);
  return async (tags) => {
    const { lease } = own;
    if (lease === undefined || means.nowMs() >= lease.endsAtMs) return assume(tags, await own.renew());
    try {
      return await assume(tags, lease);
    } catch (error) {
      // The pod's credentials may have been revoked; where a role refuses the tags, they are taken again ever more rarely.
      const isRefusal = error instanceof ExchangeError && error.isRefusal;
      const next = isRefusal ? own.refuse(lease, 401, () => undefined) : undefined;
      if (next === undefined) throw error;
      return assume(tags, await next);
    }
  };
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
  return { pool, url, clocks, nowMs };
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
