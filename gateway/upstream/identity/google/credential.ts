// With which token of Google is a request signed in? That of a service account's key; of the pod, by federation or of GKE; and where another
// service account is to act, that one's, for any of them.

import { parseJson } from '../../../../core/parse-json.ts';
import { asRecord } from '../../../json/record.ts';
import { Secret } from '../../../table/secret.ts';
import type { KeyedEndpoint, ProviderView } from '../../../table/view.ts';
import { type CredentialFor, type CredentialMeans, type Given, staticKey } from '../../credential.ts';
import { bearer } from '../../renewed-credential.ts';
import type { AccessToken } from '../access-token.ts';
import { type AskService, askService } from '../ask-service.ts';
import { ExchangeError } from '../exchange-error.ts';
import { readProjected } from '../projected-file.ts';
import { isWrittenKey, readWrittenKey } from '../read-written-key.ts';
import { type FederatedFile, readCredentialFile, type ServiceAccount } from './credential-file.ts';
import { askMetadata, askMetadataEmail, exchangeClaim, exchangeFederated, impersonate } from './exchanges.ts';
import type { GoogleServices } from './services.ts';

/** An API key is no matter of this, in whichever header it is sent. */
export function googleCredential(services: GoogleServices): CredentialFor {
  return (provider, endpoint, means) => {
    const { auth, settings } = provider.entry;
    const { secret } = endpoint.key ?? {};
    const isBearer = auth?.header.toLowerCase() === 'authorization';
    const isAccount = isBearer && secret !== undefined && isWrittenKey(secret);
    if (!isAccount && settings?.identity !== 'GCP') return staticKey(provider, endpoint);
    return means.renewed(provider, endpoint, () => exchange({ provider, endpoint, means, services }));
  };
}

interface Exchange {
  readonly provider: ProviderView;
  readonly endpoint: KeyedEndpoint;
  readonly means: CredentialMeans;
  readonly services: GoogleServices;
}

/** A token, and as whom. */
interface Signed {
  readonly given: AccessToken;
  readonly identity: string | undefined;
  /** The project whose quota is used; absent: that of the service account. */
  readonly quotaProject?: string | undefined;
}

async function exchange({ provider, endpoint, means, services }: Exchange): Promise<Given> {
  const { settings = {} } = provider.entry;
  const ask: AskService = (url, request) =>
    askService(means.pools.tokenPool(provider, url.origin), url, request);
  const { secret } = endpoint.key ?? {};
  const own = secret
    ? await signedByKey(ask, services, readKey(secret), means)
    : await signedByPod(ask, services, means, settings.project);
  const { impersonate: account } = settings;
  const signed =
    account === undefined
      ? own
      : {
          given: await impersonate(ask, services, own.given, account, () => means.nowMs()),
          identity: account,
        };
  const { token, lifetimeMs } = signed.given;
  const given = bearer(token, lifetimeMs, signed.identity);
  const { quotaProject } = signed;
  const quota = quotaProject === undefined ? [] : ['x-goog-user-project', quotaProject];
  return { ...given, headers: [...given.headers, ...quota] };
}

async function signedByKey(
  ask: AskService,
  services: GoogleServices,
  account: ServiceAccount,
  means: CredentialMeans,
): Promise<Signed> {
  return { given: await exchangeClaim(ask, services, account, means.nowMs()), identity: account.email };
}

const metadataHost = 'metadata.google.internal';

async function signedByPod(
  ask: AskService,
  services: GoogleServices,
  means: CredentialMeans,
  project: string | undefined,
): Promise<Signed> {
  const { GOOGLE_APPLICATION_CREDENTIALS: path, GCE_METADATA_HOST: host = metadataHost } = means.environment;
  if (path === undefined) {
    const askPlatform: AskService = (url, request) =>
      askService(means.pools.platformPool(url.origin), url, request);
    const given = await askMetadata(askPlatform, host);
    return { given, identity: await askMetadataEmail(askPlatform, host) };
  }
  const file = readCredentialFile(await readProjected(path, 'The file of GOOGLE_APPLICATION_CREDENTIALS'));
  const { quotaProject } = file;
  if (file.kind === 'account')
    return { ...(await signedByKey(ask, services, file.account, means)), quotaProject };
  const given = await exchangeFederated(ask, services, file, await subjectTokenOf(file));
  const { impersonates } = file;
  // Tokens of a pool have no project of their own: https://docs.cloud.google.com/docs/quotas/quota-project.
  if (impersonates === undefined)
    return { given, identity: file.audience.slice(2), quotaProject: quotaProject ?? project };
  return {
    given: await impersonate(ask, services, given, impersonates, () => means.nowMs()),
    identity: impersonates,
    quotaProject,
  };
}

async function subjectTokenOf({ tokenFile, tokenMember }: FederatedFile): Promise<string> {
  const text = await readProjected(tokenFile, 'The file of credential_source');
  if (tokenMember === undefined) return text;
  const token = asRecord(parseJson(text))?.[tokenMember];
  if (typeof token === 'string' && token !== '') return token;
  throw new ExchangeError(`The file of credential_source has no text under ${tokenMember}.`, true);
}

function readKey(secret: Secret): ServiceAccount {
  const { client_email: email, private_key: privateKey, private_key_id: keyId } = readWrittenKey(secret);
  if (typeof email !== 'string' || typeof privateKey !== 'string')
    throw new ExchangeError('The key does not belong to a service account.', true);
  return { email, privateKey: new Secret(privateKey), keyId: typeof keyId === 'string' ? keyId : undefined };
}
