// Compiles one Provider into its entry with credentials, or the reason why it has none.

import { type UpstreamApi, upstreamDialectOfApi } from '../../core/catalog/dialects.ts';
import type { CallPlace, ListNames } from '../../core/catalog/list-names.ts';
import { PROVIDER_TYPES, type ProviderType } from '../../core/catalog/provider-types.ts';
import type { Credential, ProviderEntry } from '../../core/contract/routing-table.ts';
import type { AddressRules } from '../../core/egress/address-rules.ts';
import { toMs } from '../resources/duration.ts';
import type { Parsed } from '../resources/parse.ts';
import type { Provider, ProviderSpec } from '../resources/provider.ts';
import type {
  ConfigMapRecord,
  NamespaceRecord,
  PlatformSettings,
  RawObject,
  SecretRecord,
} from '../watch/snapshot.ts';
import { awsCredentialsInvalid } from './checks/aws-credentials-invalid.ts';
import { certificateNotVerified } from './checks/certificate-not-verified.ts';
import { endpointNotAllowed, proxyNotAllowed } from './checks/endpoint-not-allowed.ts';
import { headerTwice } from './checks/header-twice.ts';
import { identityNotAllowed } from './checks/identity-not-allowed.ts';
import { invalid } from './checks/invalid.ts';
import { noUsableKey } from './checks/no-usable-key.ts';
import { notPermitted } from './checks/not-permitted.ts';
import type { SecretUse } from './checks/secret-use.ts';
import { tlsWithoutHttps } from './checks/tls-without-https.ts';
import { unsupportedProviderValue } from './checks/unsupported-value.ts';
import { clientSecretKind } from './client-secret.ts';
import { connectionSecretsOf, type ResolvedConnection, resolveConnection } from './connection.ts';
import { type CredentialKind, type ResolvedCredential, resolveCredential } from './credentials.ts';
import { upstreamsInOrder } from './dialects.ts';
import {
  choosesServer,
  type Destination,
  type Endpoint,
  endpointOf,
  proxyOf,
  readersOf,
} from './endpoint.ts';
import { type HealthCheck, healthCheckOf } from './health-check.ts';
import { exchangeOf, identityOf, identitySettings, needsKey } from './identity.ts';
import { buildLimits, wordsOnLimits } from './limits.ts';
import { compareText, sortedMap } from './order.ts';
import { resolveNamespaces, type SharedWith } from './selector.ts';
import { serviceAccountKind } from './service-account.ts';
import {
  type Condition,
  type Finding,
  fails,
  holds,
  joined,
  notEvaluated,
  type ProviderVerdict,
} from './verdict.ts';

export interface ProviderInput {
  readonly object: RawObject;
  readonly parsed: Parsed<Provider>;
  /** Finds a Secret of the Provider's own namespace. There is no way to ask for another one's. */
  readonly secret: (name: string) => SecretRecord | undefined;
  readonly namespaces: readonly NamespaceRecord[];
  readonly platform: PlatformSettings;
  readonly addressRules: AddressRules;
  /** Finds a ConfigMap of the Provider's own namespace. */
  readonly configMap: (name: string) => ConfigMapRecord | undefined;
  /** Unix milliseconds. */
  readonly nowMs: number;
}

export interface CompiledProvider {
  readonly verdict: Omit<ProviderVerdict, 'attachedRoutes'>;
  /** Absent where the Provider is out of service. */
  readonly entry?: ProviderEntry;
  readonly credentials: readonly Credential[];
  /** Absent where none is wanted, or it is out of service. */
  readonly healthCheck?: HealthCheck;
  /** Who may target it, and in which dialects; empty if it is not accepted. */
  readonly sharedWith: SharedWith;
  readonly apis: readonly UpstreamApi[];
  /** Of one model, where its name may say them; absent: every model speaks `apis`. */
  readonly apisOf?: (upstreamModel: string) => readonly UpstreamApi[] | undefined;
  /** `owned_by` of platform models that it serves first. */
  readonly ownedBy: string;
  readonly priceList: PriceList;
  /** One word on why it is out of service; empty where it is not. */
  readonly outOfService: string;
}

/** Whose list prices its models have. No vendor's, if it is not at a vendor's address: the same name may cost something else there. */
interface PriceList {
  /** The same for lists that are the same. */
  readonly id: string;
  namesOf(upstreamModel: string): ListNames;
}

/** Names of the Secrets that a Provider refers to, each once. */
export function secretsOf(spec: ProviderSpec): string[] {
  const keys = spec.auth.keys?.map((key) => key.secretRef.name) ?? [];
  const headers = spec.headers?.flatMap((header) => header.valueFrom?.secretKeyRef.name ?? []) ?? [];
  return [...new Set([...keys, ...headers, ...connectionSecretsOf(spec)])];
}

export function compileProvider(input: ProviderInput): CompiledProvider {
  const { object, parsed, platform } = input;
  const { namespace } = object.metadata;
  if (!parsed.ok) return notAccepted(object, invalid(parsed.problems));
  const { spec } = parsed.value;
  const endpoint = endpointOf(spec);
  const identity = identityOf(settingsOf(spec));
  const fault =
    unsupportedProviderValue(spec) ??
    notPermitted(namespace, spec, platform) ??
    // guard: identity-right
    identityNotAllowed(namespace, identity, readersOf(spec, endpoint), choosesServer(spec.tls), platform) ??
    headerTwice(spec) ??
    tlsWithoutHttps(spec, endpoint);
  if (fault !== undefined) return notAccepted(object, fault, parsed.value);
  return accepted(input, parsed.value);
}

function accepted(input: ProviderInput, provider: Provider): CompiledProvider {
  const { namespace, name } = provider.metadata;
  const { spec } = provider;
  const endpoint = endpointOf(spec);
  const facts = PROVIDER_TYPES[spec.type];
  const { settings } = settingsOf(spec);
  const apis = upstreamsInOrder(spec.apis ?? facts.apis ?? []);
  const readers = readersOf(spec, endpoint);
  const keys = resolveKeys(input, provider, readers);
  const headers = resolveHeaders(input, provider, readers);
  const connection = resolveConnection(provider, endpoint, input);

  const keyFindings = keys.flatMap((key) => (key.resolved?.kind === 'refused' ? [key.resolved.finding] : []));
  const usableKeys = keys.filter((key) => key.resolved?.kind === 'usable');
  const [fatal, ...more] = [
    endpointNotAllowed(namespace, endpoint, input.addressRules),
    proxyNotAllowed(namespace, proxyOf(spec), input.addressRules),
    ...connection.findings,
    ...headers.flatMap((header) => (header.resolved?.kind === 'refused' ? [header.resolved.finding] : [])),
    ...(needsKey(spec.auth) && usableKeys.length === 0 ? keyFindings : []),
    needsKey(spec.auth) && keyFindings.length === 0 ? noUsableKey(usableKeys.length) : undefined,
  ].filter((finding) => finding !== undefined);

  const conditions: Condition[] = [
    spec.suspended
      ? holds('Accepted', 'Suspended', 'spec.suspended keeps it out of service')
      : holds('Accepted', 'Accepted', wordsOnLimits(limitsOf(spec), input.platform)),
    fatal === undefined ? holds('ResolvedRefs', 'ResolvedRefs') : fails('ResolvedRefs', joined(fatal, more)),
    ...(fatal === undefined ? degraded([certificateNotVerified(spec), ...keyFindings]) : []),
  ];
  const outOfService = spec.suspended ? 'Suspended' : (fatal?.reason ?? '');
  const isInTable = outOfService === '';
  const healthCheck = isInTable ? healthCheckOf(provider) : undefined;
  const entry = isInTable
    ? buildEntry(input, provider, endpoint, apis, usableKeys, headers, connection)
    : undefined;
  return {
    verdict: {
      kind: 'Provider',
      namespace,
      name,
      ...(provider.metadata.generation === undefined ? {} : { generation: provider.metadata.generation }),
      conditions,
      isInTable,
      endpoint: endpoint.baseUrl,
      ...(entry === undefined ? {} : exchangeOf(entry)),
      keys: keys.map(keyState),
    },
    ...(entry === undefined ? {} : { entry }),
    credentials: isInTable
      ? [
          ...[...usableKeys, ...headers].flatMap(({ resolved }) =>
            resolved?.kind === 'usable' ? [resolved.credential] : [],
          ),
          ...connection.credentials,
        ]
      : [],
    ...(healthCheck === undefined ? {} : { healthCheck }),
    sharedWith: resolveNamespaces(spec.allowedNamespaces, namespace, input.namespaces),
    apis,
    ...(spec.apis === undefined ? apisOfModels(spec.type, endpoint, settings) : {}),
    ownedBy: facts.ownedBy,
    priceList: priceListOf(spec.type, endpoint, settings),
    outOfService,
  };
}

/** Empty where every model speaks what its Provider does. */
export function apisOfModels(
  type: ProviderType,
  endpoint: Endpoint,
  settings?: ProviderEntry['settings'],
): Pick<CompiledProvider, 'apisOf'> {
  const { apisOf } = PROVIDER_TYPES[type];
  const place = placeOf(endpoint, settings);
  return apisOf === undefined ? {} : { apisOf: (upstreamModel) => apisOf(upstreamModel, place) };
}

function placeOf({ authority }: Endpoint, settings: ProviderEntry['settings'] = {}): CallPlace {
  return { host: authority, settings };
}

export function priceListOf(
  type: ProviderType,
  endpoint: Endpoint,
  settings: ProviderEntry['settings'] = {},
): PriceList {
  const { priceVendor: vendor, listNames } = PROVIDER_TYPES[type];
  const place = placeOf(endpoint, settings);
  if (listNames !== undefined) {
    return {
      id: JSON.stringify([type, place]),
      namesOf: (upstreamModel) => listNames(upstreamModel, place),
    };
  }
  if (vendor === undefined) return noPriceList(`a Provider of type ${type} has no list prices`);
  // Without the address: users who target a Provider of another namespace read this too.
  if (!endpoint.isBuiltIn) {
    return noPriceList(
      "its Provider is not at the vendor's own address, so the vendor's list prices do not apply",
    );
  }
  return { id: vendor, namesOf: (model) => ({ names: [{ vendor, model }] }) };
}

function noPriceList(why: string): PriceList {
  return { id: why, namesOf: () => ({ why }) };
}

export function notAccepted(object: RawObject, fault: Finding, provider?: Provider): CompiledProvider {
  const { namespace, name, generation } = object.metadata;
  return {
    verdict: {
      kind: 'Provider',
      namespace,
      name,
      ...(typeof generation === 'number' ? { generation } : {}),
      conditions: [fails('Accepted', fault), notEvaluated('ResolvedRefs')],
      isInTable: false,
      keys: [],
    },
    credentials: [],
    sharedWith: [],
    apis: [],
    priceList: noPriceList('its Provider is not accepted'),
    ownedBy: provider === undefined ? '' : PROVIDER_TYPES[provider.spec.type].ownedBy,
    outOfService: fault.reason,
  };
}

type KeySpec = NonNullable<ProviderSpec['auth']['keys']>[number];
interface ResolvedKey {
  readonly spec: KeySpec;
  /** Absent where the key is switched off: then its Secret is not looked at. */
  readonly resolved?: ResolvedCredential;
}

function resolveKeys(
  input: ProviderInput,
  provider: Provider,
  readers: readonly Destination[],
): ResolvedKey[] {
  const { namespace, name } = provider.metadata;
  return (provider.spec.auth.keys ?? []).map((spec) => {
    if (spec.disabled || spec.weight === 0) return { spec };
    const { secretRef } = spec;
    const use = {
      field: `spec.auth.keys[${spec.name}]`,
      namespace,
      secret: secretRef.name,
      key: secretRef.key,
    };
    const id = `${namespace}/${name}/${spec.name}`;
    const kind = keyKind(provider.spec.auth.type, use);
    return { spec, resolved: resolveCredential(id, use, input.secret(secretRef.name), readers, kind) };
  });
}

/** Absent: a key that goes into a header. */
export function keyKind(type: ProviderSpec['auth']['type'], use: SecretUse): CredentialKind | undefined {
  if (type === 'AWS') return { isValid: (value) => awsCredentialsInvalid(use, value) };
  if (type === 'Azure') return clientSecretKind(use);
  return type === 'GCP' ? serviceAccountKind(use) : undefined;
}

type HeaderSpec = NonNullable<ProviderSpec['headers']>[number];
interface ResolvedHeader {
  readonly spec: HeaderSpec;
  readonly resolved?: ResolvedCredential;
}

function resolveHeaders(
  input: ProviderInput,
  provider: Provider,
  readers: readonly Destination[],
): ResolvedHeader[] {
  const { namespace, name } = provider.metadata;
  return (provider.spec.headers ?? []).map((spec) => {
    if (spec.valueFrom === undefined) return { spec };
    const { secretKeyRef } = spec.valueFrom;
    const use = {
      field: `spec.headers[${spec.name}]`,
      namespace,
      secret: secretKeyRef.name,
      key: secretKeyRef.key,
    };
    // No key can be called so: names of keys have no colon.
    const id = `${namespace}/${name}/header:${spec.name}`;
    return { spec, resolved: resolveCredential(id, use, input.secret(secretKeyRef.name), readers) };
  });
}

/** Some keys work, some do not; or what works should not be left so. */
function degraded(findings: readonly (Finding | undefined)[]): Condition[] {
  const [first, ...rest] = findings.filter((finding) => finding !== undefined);
  if (first === undefined) return [];
  const { reason, message } = joined(first, rest);
  return [holds('Degraded', reason, message)];
}

function keyState({ spec, resolved }: ResolvedKey): ProviderVerdict['keys'][number] {
  const { name } = spec;
  if (resolved === undefined) {
    const message = spec.disabled ? 'disabled by disabled: true' : 'drained by weight: 0';
    return { name, state: 'Disabled', message };
  }
  if (resolved.kind === 'usable')
    return { name, state: 'Active', fingerprint: resolved.credential.fingerprint };
  const { reason, message } = resolved.finding;
  return {
    name,
    state: reason === 'SecretNotFound' || reason === 'KeyNotFound' ? 'Missing' : 'Invalid',
    message,
  };
}

/** Options that are no headers, and how it signs in at a cloud: the type's own way upstream reads them. */
function settingsOf({ type, options = {}, auth }: ProviderSpec): Pick<ProviderEntry, 'settings'> {
  const { settings = {} } = PROVIDER_TYPES[type];
  const own = Object.entries(options).filter(([option]) => Object.hasOwn(settings, option));
  // Last: no option takes the place of what says whose identity is used.
  const all = sortedMap({ ...Object.fromEntries(own), ...identitySettings(auth) });
  return Object.keys(all).length === 0 ? {} : { settings: all };
}

function limitsOf({ limits, auth }: ProviderSpec) {
  return [limits, ...(auth.keys ?? []).map((key) => key.limits)];
}

/**
 * By its header the operator knows a key that is exchanged for tokens, where its type takes keys in another one. A plain key in the same one has it
 * in lower case.
 */
function authOf({ type, auth }: ProviderSpec): NonNullable<ProviderEntry['auth']> {
  if (auth.type === 'GCP' || auth.type === 'Azure') return { header: 'Authorization', prefix: 'Bearer ' };
  const { header, signIn } = PROVIDER_TYPES[type];
  const name = auth.header?.name ?? header.name;
  const isPlain = signIn !== undefined && auth.header !== undefined;
  return { header: isPlain ? name.toLowerCase() : name, prefix: auth.header?.prefix ?? header.prefix };
}

function buildEntry(
  { platform }: ProviderInput,
  { metadata, spec }: Provider,
  endpoint: Endpoint,
  apis: readonly UpstreamApi[],
  keys: readonly ResolvedKey[],
  headers: readonly ResolvedHeader[],
  { tls, proxy }: ResolvedConnection,
): ProviderEntry {
  const facts = PROVIDER_TYPES[spec.type];
  const { timeouts } = spec;
  const { passive } = spec.healthCheck;
  return {
    id: `${metadata.namespace}/${metadata.name}`,
    type: spec.type,
    ...(spec.displayName === undefined ? {} : { displayName: spec.displayName }),
    baseUrl: endpoint.baseUrl,
    dialects: apis.map((api) => upstreamDialectOfApi[api]),
    ...(facts.chatNames === undefined ? {} : { chatNames: facts.chatNames.value }),
    ...(facts.chatOrder === undefined ? {} : { chatOrder: facts.chatOrder.value }),
    ...(facts.messagesSources === undefined ? {} : { messagesSources: facts.messagesSources.value }),
    ...(facts.messagesSchemas === undefined ? {} : { messagesSchemas: facts.messagesSchemas.value }),
    ...(facts.modelMembers === undefined ? {} : { modelMembers: [...facts.modelMembers.value] }),
    isPlatform: platform.platformNamespaces.includes(metadata.namespace),
    ...(needsKey(spec.auth) ? { auth: authOf(spec) } : {}),
    keys: keys
      .flatMap(({ spec: { name, weight, priority, limits }, resolved }) =>
        resolved?.kind === 'usable'
          ? [{ name, credential: resolved.credential.id, weight, priority, ...buildLimits(limits) }]
          : [],
      )
      .sort((a, b) => a.priority - b.priority || compareText(a.name, b.name)),
    headers: [
      ...headers.map(({ spec: { name, value }, resolved }) =>
        resolved?.kind === 'usable'
          ? { name, credential: resolved.credential.id }
          : { name, value: value ?? '' },
      ),
      ...Object.entries(sortedMap(spec.options ?? {})).flatMap(([option, value]) => {
        const name = facts.options[option];
        return name === undefined ? [] : [{ name, value }];
      }),
    ],
    ...settingsOf(spec),
    ...(tls === undefined ? {} : { tls }),
    ...(proxy === undefined ? {} : { proxy }),
    timeouts: {
      connectMs: toMs(timeouts.connect),
      firstEventMs: toMs(timeouts.firstEvent),
      lastFirstEventMs: toMs(timeouts.lastFirstEvent),
      livenessMs: toMs(timeouts.liveness),
      progressMs: toMs(timeouts.progress),
      totalMs: toMs(timeouts.total),
      clientWriteMs: toMs(timeouts.clientWrite),
    },
    breaker: {
      consecutiveFailures: passive.consecutiveFailures,
      openForMs: toMs(passive.openFor),
      maxOpenMs: toMs(passive.maxOpen),
      rateLimitCooldownMs: toMs(passive.rateLimitCooldown),
    },
    ...buildLimits(spec.limits),
  };
}
