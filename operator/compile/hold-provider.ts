// May a Provider serve on in the form of the table in use? The consent of others is checked again: Secrets, addresses, platform. Faults
// of the object's present form do not matter here.

import { upstreamApisInOrder, upstreamDialectOfApi } from '../../core/catalog/dialects.ts';
import { isProviderType, PROVIDER_TYPES } from '../../core/catalog/provider-types.ts';
import { parseAwsCredentials } from '../../core/contract/aws-credentials.ts';
import type { Credential, ProviderEntry } from '../../core/contract/routing-table.ts';
import { credentialsOf, isExchangedKey } from '../../core/contract/routing-table.ts';
import type { AddressRules } from '../../core/egress/address-rules.ts';
import { membersOf } from '../resources/loose.ts';
import type { ProviderSpec } from '../resources/provider.ts';
import type { NamespaceRecord, PlatformSettings, RawObject, SecretRecord } from '../watch/snapshot.ts';
import { endpointNotAllowed, proxyNotAllowed } from './checks/endpoint-not-allowed.ts';
import { identityNotAllowed } from './checks/identity-not-allowed.ts';
import { connectionCredential } from './connection.ts';
import { resolveCredential } from './credentials.ts';
import {
  choosesServer,
  type Destination,
  type Endpoint,
  endpointOf,
  type ProxyEndpoint,
  proxyOf,
  readersOf,
} from './endpoint.ts';
import { ruleOfCredential } from './hold-rules.ts';
import { exchangeOf, identityOf } from './identity.ts';
import { consentOf, type GoodProvider, withHeld } from './last-good.ts';
import { apisOfModels, type CompiledProvider, keyKind, priceListOf } from './providers.ts';
import type { HeldForm } from './verdict.ts';

interface GrantsInput {
  /** Finds a Secret of the Provider's own namespace. */
  readonly secret: (name: string) => SecretRecord | undefined;
  readonly platform: PlatformSettings;
  readonly addressRules: AddressRules;
}

/**
 * The form with the values that its Secrets have now, without keys whose Secret was taken back; a Secret that is gone or
 * cannot be read leaves its value as it was. Undefined where the form may not be used any more.
 */
export function regrantProvider(good: GoodProvider, input: GrantsInput): GoodProvider | undefined {
  const { entry } = good;
  const namespace = namespaceOf(entry.id);
  const endpoint = endpointOfEntry(entry);
  if (endpoint === undefined) return undefined;
  const proxy = proxyOfEntry(entry);
  const readers = readersOfEntry(entry, endpoint);
  const isOutOfReach =
    // guard: identity-right-held
    identityNotAllowed(namespace, identityOf(entry), readers, choosesServer(tlsOf(entry)), input.platform) ??
    endpointNotAllowed(namespace, endpoint, input.addressRules) ??
    proxyNotAllowed(namespace, proxy, input.addressRules);
  if (isOutOfReach !== undefined) return undefined;

  const granted = new Map<string, Credential>();
  for (const credential of good.credentials) {
    const now = regrantCredential(credential, entry, { endpoint, proxy }, input);
    if (now !== undefined) granted.set(credential.id, now);
  }
  const keys = entry.keys.filter(({ credential }) => granted.has(credential));
  if (entry.keys.length > 0 && keys.length === 0) return undefined;
  // A key is one of several; everything else that is sent belongs to every call.
  const needed = credentialsOf({ ...entry, keys });
  if (needed.some((id) => !granted.has(id))) return undefined;

  const isPlatform = input.platform.platformNamespaces.includes(namespace);
  const isSame = keys.length === entry.keys.length && isPlatform === entry.isPlatform;
  const isUsed = new Set(needed);
  return {
    entry: isSame ? entry : { ...entry, keys, isPlatform },
    credentials: [...granted.values()].filter(({ id }) => isUsed.has(id)),
  };
}

function regrantCredential(
  credential: Credential,
  entry: ProviderEntry,
  { endpoint, proxy }: { readonly endpoint: Endpoint; readonly proxy: ProxyEndpoint | undefined },
  { secret }: GrantsInput,
): Credential | undefined {
  const { id, from } = credential;
  const { id: providerId, tls } = entry;
  // A table of an older release does not say which Secret the value came from, so the Secret's consent cannot be checked.
  if (from === undefined) return undefined;
  const use = { field: id, namespace: namespaceOf(providerId), secret: from.secret, key: from.key };
  const ofConnection = connectionCredential(id, use, endpoint, proxy);
  const readers = readersOfEntry(entry, endpoint);
  const resolved =
    ofConnection === undefined
      ? resolveCredential(id, use, secret(from.secret), readers, keyKind(authTypeOf(entry, credential), use))
      : resolveCredential(id, use, secret(from.secret), ofConnection.destinations, ofConnection.kind);
  if (resolved.kind === 'refused') {
    return ruleOfCredential(resolved.finding.reason) === 'held' ? credential : undefined;
  }
  // The key of a client certificate belongs to the chain of this form.
  const isPaired = id === tls?.clientCertificate?.key;
  return isPaired || resolved.credential.value === credential.value ? credential : resolved.credential;
}

/** What kind of key a credential is, by the entry that was made of it. */
function authTypeOf(
  { type, keys, auth, settings }: ProviderEntry,
  { id, value }: Credential,
): ProviderSpec['auth']['type'] {
  const signIn = isProviderType(type) ? PROVIDER_TYPES[type].signIn : undefined;
  if (signIn === undefined || !keys.some(({ credential }) => credential === id)) return 'ApiKey';
  const isSignIn = {
    AWS: () => parseAwsCredentials(value) !== undefined,
    GCP: () => isExchangedKey({ auth }),
    Azure: () => settings?.tenantId !== undefined,
  };
  return isSignIn[signIn]() ? signIn : 'ApiKey';
}

function proxyOfEntry({ proxy }: ProviderEntry): ProxyEndpoint | undefined {
  if (proxy === undefined) return undefined;
  const { protocol, hostname, port } = proxy;
  return proxyOf({ proxy: { url: `${protocol}://${hostname}:${port}` } });
}

function readersOfEntry(entry: ProviderEntry, endpoint: Endpoint): readonly Destination[] {
  return readersOf({ proxy: proxyOfEntry(entry), tls: tlsOf(entry) }, endpoint);
}

function tlsOf({ tls }: ProviderEntry) {
  const { ca: caRef, serverName, insecureSkipVerify = false } = tls ?? {};
  return { caRef, serverName, insecureSkipVerify };
}

function endpointOfEntry({ type, baseUrl }: ProviderEntry): Endpoint | undefined {
  return isProviderType(type) ? endpointOf({ type, baseURL: baseUrl }) : undefined;
}

export interface HoldProviderInput extends GrantsInput {
  readonly object: RawObject;
  readonly namespaces: readonly NamespaceRecord[];
}

/** @param present what became of the form that cannot be served. */
export function holdProvider(
  present: CompiledProvider,
  good: GoodProvider,
  held: HeldForm,
  input: HoldProviderInput,
): CompiledProvider {
  const { object, namespaces, platform } = input;
  const switchedOff = keysSwitchedOff(object);
  const keys = good.entry.keys.filter(({ name }) => !switchedOff.has(name));
  const wanted = keys.length === good.entry.keys.length ? good : { ...good, entry: { ...good.entry, keys } };
  const granted =
    keys.length === 0 && good.entry.keys.length > 0 ? undefined : regrantProvider(wanted, input);
  if (granted === undefined) return present;
  const { entry, credentials } = granted;
  const { type } = entry;
  const endpoint = endpointOfEntry(entry);
  // Also of an object that cannot be read, the models cost what they cost and belong to whom they did.
  const facts =
    isProviderType(type) && endpoint !== undefined
      ? {
          ownedBy: PROVIDER_TYPES[type].ownedBy,
          priceList: priceListOf(type, endpoint, entry.settings),
          // Fewer are those that it said itself, for all of its models.
          ...(entry.dialects.length === PROVIDER_TYPES[type].apis?.length
            ? apisOfModels(type, endpoint, entry.settings)
            : { apisOf: undefined }),
        }
      : {};
  return {
    ...present,
    ...facts,
    verdict: {
      ...withHeld(present.verdict, held),
      endpoint: entry.baseUrl,
      ...exchangeOf(entry),
      ...(present.verdict.keys.length > 0 ? {} : { keys: keyStates(granted) }),
    },
    entry,
    credentials,
    sharedWith: consentOf(object, namespaces, platform),
    apis: upstreamApisInOrder.filter((api) => entry.dialects.includes(upstreamDialectOfApi[api])),
    outOfService: '',
  };
}

/** By an object that says so clearly enough, whatever else is wrong with it. */
function keysSwitchedOff({ spec }: RawObject): ReadonlySet<unknown> {
  const { keys } = membersOf(membersOf(spec).auth);
  const listed = Array.isArray(keys) ? keys.map(membersOf) : [];
  return new Set(
    listed.filter(({ disabled, weight }) => disabled === true || weight === 0).map(({ name }) => name),
  );
}

function keyStates({ entry, credentials }: GoodProvider): CompiledProvider['verdict']['keys'] {
  const prints = new Map(credentials.map(({ id, fingerprint }) => [id, fingerprint]));
  return entry.keys.map(({ name, credential }) => {
    const fingerprint = prints.get(credential);
    return { name, state: 'Active', ...(fingerprint === undefined ? {} : { fingerprint }) };
  });
}

function namespaceOf(id: string): string {
  return id.slice(0, id.indexOf('/'));
}
