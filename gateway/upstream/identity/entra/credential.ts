// With which token of Entra ID is a request signed in? With one for the pod's own identity, or for an app with its secret or certificate.

import { Secret } from '../../../table/secret.ts';
import type { KeyedEndpoint, ProviderView } from '../../../table/view.ts';
import type { CredentialFor, CredentialMeans, Given } from '../../credential.ts';
import { bearer } from '../../renewed-credential.ts';
import { askService } from '../ask-service.ts';
import { ExchangeError } from '../exchange-error.ts';
import { readProjected } from '../projected-file.ts';
import { readWrittenKey } from '../read-written-key.ts';
import { authorityOf, scopeOf } from './defaults.ts';
import { exchangeProof, type Proof } from './exchange.ts';

/** Undefined: the Provider does not sign in by Entra. */
export function entraCredential(
  provider: ProviderView,
  endpoint: KeyedEndpoint,
  means: CredentialMeans,
): ReturnType<CredentialFor> | undefined {
  const { identity, tenantId } = provider.entry.settings ?? {};
  const isOfApp = endpoint.key !== undefined && tenantId !== undefined;
  if (!isOfApp && identity !== 'Azure') return undefined;
  return means.renewed(provider, endpoint, () => exchange(provider, endpoint, means));
}

async function exchange(
  provider: ProviderView,
  endpoint: KeyedEndpoint,
  means: CredentialMeans,
): Promise<Given> {
  const { host, basePath, entry } = provider;
  const { settings = {} } = entry;
  const { environment, pools } = means;
  const app = {
    tenantId: settings.tenantId ?? said(environment.AZURE_TENANT_ID, 'AZURE_TENANT_ID'),
    clientId: settings.clientId ?? said(environment.AZURE_CLIENT_ID, 'AZURE_CLIENT_ID'),
    scope: settings.scope ?? scopeOf(host, basePath),
    authority: authorityOf(host, environment.AZURE_AUTHORITY_HOST),
  };
  const proof = endpoint.key
    ? readKey(endpoint.key.secret)
    : await podToken(environment.AZURE_FEDERATED_TOKEN_FILE);
  const { token, lifetimeMs } = await exchangeProof(
    (url, request) => askService(pools.tokenPool(provider, url.origin), url, request),
    app,
    proof,
    means.nowMs(),
  );
  return bearer(token, lifetimeMs, app.clientId);
}

async function podToken(path: string | undefined): Promise<Proof> {
  const file = said(path, 'AZURE_FEDERATED_TOKEN_FILE');
  return { kind: 'pod-token', token: await readProjected(file, 'The file of AZURE_FEDERATED_TOKEN_FILE') };
}

function said(value: string | undefined, variable: string): string {
  if (value !== undefined) return value;
  throw new ExchangeError(
    `The pod has no ${variable}. Label it azure.workload.identity/use: "true", and annotate its service account.`,
    true,
  );
}

function readKey(secret: Secret): Proof {
  const { clientSecret, certificate, privateKey } = readWrittenKey(secret);
  if (typeof clientSecret === 'string') return { kind: 'secret', secret: new Secret(clientSecret) };
  if (typeof certificate === 'string' && typeof privateKey === 'string')
    return { kind: 'certificate', certificate, privateKey: new Secret(privateKey) };
  throw new ExchangeError('The key is neither a client secret nor a certificate with its key.', true);
}
