// Connection settings of a Provider for the table: authority, client certificate and proxy, with their faults.

import type { Credential, UpstreamProxy, UpstreamTls } from '../../core/contract/routing-table.ts';
import type { Provider, ProviderSpec } from '../resources/provider.ts';
import type { ConfigMapRecord, SecretRecord } from '../watch/snapshot.ts';
import { type CertificatesRead, readCertificates, toPem, turnsOf } from './certificates.ts';
import { type CaUse, caNotFound } from './checks/ca-not-found.ts';
import { invalidAuthority, invalidClientCertificate } from './checks/invalid-certificate.ts';
import { secretNotOptedIn } from './checks/secret-not-opted-in.ts';
import { secretTypeNotAllowed } from './checks/secret-type-not-allowed.ts';
import type { SecretUse } from './checks/secret-use.ts';
import { proxyCredentialInvalid } from './checks/secret-value-invalid.ts';
import { type CredentialKind, type ResolvedCredential, resolveCredential } from './credentials.ts';
import { type Destination, type Endpoint, type ProxyEndpoint, proxyOf } from './endpoint.ts';
import type { Finding } from './verdict.ts';

interface ConnectionInput {
  readonly secret: (name: string) => SecretRecord | undefined;
  readonly configMap: (name: string) => ConfigMapRecord | undefined;
  /** Unix milliseconds. */
  readonly nowMs: number;
}

export interface ResolvedConnection {
  readonly tls?: UpstreamTls;
  readonly proxy?: UpstreamProxy;
  readonly credentials: readonly Credential[];
  /** Any of them keeps the Provider out of service. */
  readonly findings: readonly Finding[];
}

const TLS_SECRET_TYPE = 'kubernetes.io/tls';
const CA_SECRET_TYPES = ['Opaque', TLS_SECRET_TYPE, 'penstock.dev/provider-credential'];

/** Any text: the certificate decides whether the key fits. */
const CLIENT_KEY: CredentialKind = { types: [TLS_SECRET_TYPE], isValid: () => undefined };

function ofProxy(use: SecretUse): CredentialKind {
  return {
    types: ['Opaque', 'kubernetes.io/basic-auth', 'penstock.dev/provider-credential'],
    isValid: (value) => proxyCredentialInvalid(use, value),
  };
}

/** The kind of the connection's credential with that id, and its destinations; undefined for a key's or a header's. */
export function connectionCredential(
  id: string,
  use: SecretUse,
  endpoint: Endpoint,
  proxy: ProxyEndpoint | undefined,
): { readonly destinations: readonly Destination[]; readonly kind: CredentialKind } | undefined {
  const [, , own = ''] = id.split('/');
  if (own === 'tls:key') return { destinations: [endpoint], kind: CLIENT_KEY };
  if (!own.startsWith('proxy:')) return undefined;
  return { destinations: proxy === undefined ? [] : [proxy], kind: ofProxy(use) };
}

/** The ConfigMap that a Provider refers to. */
export function configMapOf({ tls }: ProviderSpec): string | undefined {
  return tls?.caRef?.kind === 'ConfigMap' ? tls.caRef.name : undefined;
}

/** Names of the Secrets that its connections are made with. */
export function connectionSecretsOf({ tls, proxy }: ProviderSpec): string[] {
  return [
    tls?.caRef?.kind === 'Secret' ? tls.caRef.name : undefined,
    tls?.clientCertificateRef?.name,
    proxy?.credentialsRef?.name,
  ].filter((name) => name !== undefined);
}

/** Unix milliseconds at which a certificate begins or ceases to be valid, and so the result may be another. */
export function certificateTurns(spec: ProviderSpec, input: Omit<ConnectionInput, 'nowMs'>): number[] {
  const { caRef, clientCertificateRef } = spec.tls ?? {};
  const texts = [
    caRef && dataOf(caRef, input)?.[caRef.key],
    clientCertificateRef && input.secret(clientCertificateRef.name)?.data['tls.crt'],
  ];
  return texts.flatMap((text) => {
    const read = readCertificates(text ?? '');
    return read.kind === 'read' ? read.certificates.flatMap(turnsOf) : [];
  });
}

export function resolveConnection(
  provider: Provider,
  endpoint: Endpoint,
  input: ConnectionInput,
): ResolvedConnection {
  const ca = resolveCa(provider, input);
  const client = resolveClientCertificate(provider, endpoint, input);
  const proxy = resolveProxy(provider, input);
  const { tls } = provider.spec;
  return {
    ...(tls === undefined
      ? {}
      : {
          tls: {
            ...(ca.pem === undefined ? {} : { ca: ca.pem }),
            ...(client.certificate === undefined ? {} : { clientCertificate: client.certificate }),
            ...(tls.serverName === undefined ? {} : { serverName: tls.serverName }),
            ...(tls.minVersion === 'TLS13' ? { minVersion: 'TLSv1.3' as const } : {}),
            ...(tls.insecureSkipVerify ? { insecureSkipVerify: true as const } : {}),
          },
        }),
    ...(proxy.proxy === undefined ? {} : { proxy: proxy.proxy }),
    credentials: [...client.credentials, ...proxy.credentials],
    findings: [...ca.findings, ...client.findings, ...proxy.findings],
  };
}

type CaRef = NonNullable<NonNullable<ProviderSpec['tls']>['caRef']>;

function dataOf(
  { kind, name }: Pick<CaRef, 'kind' | 'name'>,
  { secret, configMap }: Omit<ConnectionInput, 'nowMs'>,
): Readonly<Record<string, string>> | undefined {
  return (kind === 'ConfigMap' ? configMap(name) : secret(name))?.data;
}

function resolveCa(
  { metadata: { namespace }, spec }: Provider,
  input: ConnectionInput,
): { readonly pem?: string; readonly findings: readonly Finding[] } {
  const ref = spec.tls?.caRef;
  if (ref === undefined) return { findings: [] };
  const use: CaUse = { namespace, kind: ref.kind, name: ref.name, key: ref.key };
  const secret = ref.kind === 'Secret' ? input.secret(ref.name) : undefined;
  const data = dataOf(ref, input);
  const shared = { field: 'spec.tls.caRef', namespace, secret: ref.name, key: ref.key };
  // An authority is sent nowhere, so no host has to be allowed; but reading its values needs the opt-in.
  const refusal =
    (secret && (secretNotOptedIn(shared, secret) ?? secretTypeNotAllowed(shared, secret, CA_SECRET_TYPES))) ??
    caNotFound(use, data);
  if (refusal !== undefined) return { findings: [refusal] };
  const read = readCertificates(data?.[ref.key] ?? '');
  const certificateUse = { field: 'spec.tls.caRef', object: `${ref.kind} ${ref.name}`, key: ref.key };
  const invalid = invalidAuthority(certificateUse, read, input.nowMs);
  if (invalid !== undefined) return { findings: [invalid] };
  return { pem: pemOf(read), findings: [] };
}

function resolveClientCertificate(
  { metadata: { namespace, name }, spec }: Provider,
  endpoint: Endpoint,
  { secret, nowMs }: ConnectionInput,
): {
  readonly certificate?: NonNullable<UpstreamTls['clientCertificate']>;
  readonly credentials: readonly Credential[];
  readonly findings: readonly Finding[];
} {
  const ref = spec.tls?.clientCertificateRef;
  if (ref === undefined) return { credentials: [], findings: [] };
  const field = 'spec.tls.clientCertificateRef';
  const record = secret(ref.name);
  const use = { field, namespace, secret: ref.name, key: 'tls.key' };
  // No key can be called so: names of keys have no colon.
  const id = `${namespace}/${name}/tls:key`;
  const resolved = resolveCredential(id, use, record, [endpoint], CLIENT_KEY);
  if (resolved.kind === 'refused') return { credentials: [], findings: [resolved.finding] };
  const read = readCertificates(record?.data['tls.crt'] ?? '');
  const { credential } = resolved;
  const certificateUse = { field, object: `Secret ${ref.name}`, key: 'tls.crt' };
  const invalid = invalidClientCertificate(certificateUse, read, credential.value, nowMs);
  if (invalid !== undefined) return { credentials: [], findings: [invalid] };
  return {
    certificate: { chain: pemOf(read), key: credential.id },
    credentials: [credential],
    findings: [],
  };
}

function pemOf(read: CertificatesRead): string {
  return read.kind === 'read' ? toPem(read.certificates) : '';
}

function resolveProxy(
  provider: Provider,
  input: ConnectionInput,
): {
  readonly proxy?: UpstreamProxy;
  readonly credentials: readonly Credential[];
  readonly findings: readonly Finding[];
} {
  const endpoint = proxyOf(provider.spec);
  if (endpoint === undefined) return { credentials: [], findings: [] };
  const { scheme: protocol, hostname, port } = endpoint;
  const signIn = resolveProxyCredentials(provider, endpoint, input);
  const findings = signIn.flatMap((resolved) => (resolved.kind === 'refused' ? [resolved.finding] : []));
  const [username, password] = signIn.flatMap((resolved) =>
    resolved.kind === 'usable' ? [resolved.credential] : [],
  );
  const isSigned = username !== undefined && password !== undefined;
  return {
    proxy: {
      protocol,
      hostname,
      port,
      ...(isSigned ? { username: username.id, password: password.id } : {}),
    },
    credentials: isSigned ? [username, password] : [],
    // Both halves lack the same, where the Secret does.
    findings: findings.slice(0, 1),
  };
}

function resolveProxyCredentials(
  { metadata: { namespace, name }, spec }: Provider,
  endpoint: ProxyEndpoint,
  { secret }: ConnectionInput,
): ResolvedCredential[] {
  const ref = spec.proxy?.credentialsRef;
  if (ref === undefined) return [];
  return (['username', 'password'] as const).map((key) => {
    const use = { field: 'spec.proxy.credentialsRef', namespace, secret: ref.name, key };
    const id = `${namespace}/${name}/proxy:${key}`;
    return resolveCredential(id, use, secret(ref.name), [endpoint], ofProxy(use));
  });
}
