// What does a request look things up in? The routing table, cross-checked, indexed and frozen.

import { hash } from 'node:crypto';
import type { Budget } from '../../core/contract/budget.ts';
import { buildConnection, type ConnectionMaterial, proxyAuthority } from '../../core/contract/connection.ts';
import {
  credentialsOf,
  type KeyEntry,
  type ProviderEntry,
  type RateLimits,
  type RouteEntry,
  type RoutingTable,
  TableRefusedError,
  type TargetEntry,
  type UnavailableRoute,
} from '../../core/contract/routing-table.ts';
import { Secret } from './secret.ts';

export interface TableView {
  readonly epoch: number;
  readonly generation: number;
  readonly settings: RoutingTable['settings'];
  /** By SHA-256 of the key, hex. */
  readonly keys: ReadonlyMap<string, KeyEntry>;
  readonly routes: readonly RouteView[];
  readonly providers: ReadonlyMap<string, ProviderView>;
  /** What the ApiKeys of a namespace may spend together. */
  readonly tenantBudgets: ReadonlyMap<string, readonly Budget[]>;
  /** How much may pass for the ApiKeys of a namespace together. */
  readonly tenantLimits: ReadonlyMap<string, RateLimits>;
  readonly byModel: RouteIndex<RouteView>;
  /** Routes out of service, whose model ids no other one has taken. */
  readonly unavailable: RouteIndex<UnavailableView> & { readonly routes: readonly UnavailableView[] };
}

export interface RouteIndex<R> {
  /** Own routes: namespace, then model id or alias. */
  readonly own: ReadonlyMap<string, ReadonlyMap<string, R>>;
  /** Routes that other namespaces may call too, by model id or alias. */
  readonly shared: ReadonlyMap<string, readonly R[]>;
}

/** What is asked of a route to find it, whether it is served or not. */
interface Found {
  readonly entry: Pick<RouteEntry, 'model' | 'aliases' | 'sharedWith'>;
  readonly namespace: string;
}

export interface UnavailableView {
  readonly entry: UnavailableRoute;
  readonly namespace: string;
}

export interface RouteView {
  readonly entry: RouteEntry;
  readonly namespace: string;
  readonly targets: readonly TargetView[];
}

export interface ProviderView {
  readonly entry: ProviderEntry;
  readonly namespace: string;
  /** Of the base URL, with its port where that is not the scheme's. */
  readonly host: string;
  /** Path of the base URL, without a slash at its end. */
  readonly basePath: string;
  /** Extra request headers, credentials filled in. */
  readonly headers: readonly { readonly name: string; readonly value: Secret }[];
  /** Tells connections apart: its address, and all that TLS and a proxy are done with. Holds no secret. */
  readonly connectionPrint: string;
  /** Names the Provider and how it is connected to, so that what is learnt at one address is not held against the next. */
  readonly healthId: string;
  /** What TLS and a proxy take, by the id of the credential. */
  readonly connectionSecrets: ReadonlyMap<string, Secret>;
  /** Changes with every credential but the keys. Holds no secret. */
  readonly credentialsPrint: string;
  /** One per usable key; one without a key where the provider takes none. */
  readonly endpoints: readonly KeyedEndpoint[];
}

export interface TargetView {
  readonly entry: TargetEntry;
  /** Names provider, address and model: per-pod health is kept under it, whichever route the target is of. */
  readonly healthId: string;
  readonly provider: ProviderView;
  /** One per usable provider key; one without a key where the provider takes none. */
  readonly endpoints: readonly KeyedEndpoint[];
}

/** A target with one of its provider's keys. */
export interface KeyedEndpoint {
  /** Names provider, address, key and credential version: per-pod health is kept under it. */
  readonly healthId: string;
  readonly key:
    | { readonly name: string; readonly secret: Secret; readonly limits?: RateLimits | undefined }
    | undefined;
  readonly weight: number;
  readonly priority: number;
  /** The operator's own checks found the provider silent, or this key refused: whatever else there is goes before it. */
  readonly isSuspect: boolean;
}

/** By these one message could be read as two, or by another host. The operator takes none; this is the second look. */
const framingHeaders = new Set([
  ...[
    'connection',
    'content-length',
    'expect',
    'host',
    'keep-alive',
    'proxy-authorization',
    'proxy-connection',
  ],
  ...['te', 'trailer', 'transfer-encoding', 'upgrade'],
]);

/**
 * @param keys The table's keys where they have been indexed already, which takes long for many.
 * @throws {TableRefusedError} `invalid` if an entry refers to one that is not there.
 */
export function buildTableView(
  table: RoutingTable,
  keys: ReadonlyMap<string, KeyEntry> = new Map(table.keys.map((key) => [key.sha256, key])),
): TableView {
  const credentials = new Map(table.credentials.map((credential) => [credential.id, credential]));
  const credentialOf = (
    id: string,
    provider: ProviderEntry,
    host: string,
  ): { secret: Secret; fingerprint: string } => {
    const credential = credentials.get(id);
    if (!credential)
      throw refused(`provider ${provider.id} uses the credential ${id}, which is not in the table`);
    // The binding is checked where the secret is about to be used too, not only where it was compiled.
    // guard: credential-host
    if (!credential.hosts.includes(host)) {
      throw refused(`the credential ${id} may not be sent to ${host} of provider ${provider.id}`);
    }
    return { secret: new Secret(credential.value), fingerprint: credential.fingerprint };
  };

  const suspects = new Set((table.hints ?? []).map(({ provider, key }) => doubtOf(provider, key)));

  const providers = new Map<string, ProviderView>();
  for (const entry of table.providers) {
    if (!URL.canParse(entry.baseUrl)) {
      throw refused(`provider ${entry.id} has the base URL '${entry.baseUrl}', which is not a URL`);
    }
    const { host, pathname } = new URL(entry.baseUrl);
    const framing = [...entry.headers.map(({ name }) => name), entry.auth?.header ?? ''].find((name) =>
      framingHeaders.has(name.toLowerCase()),
    );
    if (framing !== undefined) {
      throw refused(`provider ${entry.id} sets the header ${framing}, which belongs to the connection`);
    }
    const connection = connectionOf(entry, host);
    const healthId = `${entry.id}@${hash('sha256', connection.connectionPrint, 'base64url')}`;
    const isUnanswered = suspects.has(doubtOf(entry.id));
    const endpoints =
      entry.auth === undefined
        ? [{ healthId, key: undefined, weight: 1, priority: 0, isSuspect: isUnanswered }]
        : entry.keys.map((key) => {
            const { secret, fingerprint } = credentialOf(key.credential, entry, host);
            return {
              healthId: `${healthId}/${key.name}@${fingerprint}`,
              key: { name: key.name, secret, limits: key.limits },
              weight: key.weight,
              priority: key.priority,
              isSuspect: isUnanswered || suspects.has(doubtOf(entry.id, key.name)),
            };
          });
    providers.set(entry.id, {
      entry,
      healthId,
      namespace: namespaceOf(entry.id),
      host,
      basePath: pathname.replace(/\/$/, ''),
      headers: entry.headers.map(({ name, value, credential }) => ({
        name,
        value:
          credential === undefined ? new Secret(value ?? '') : credentialOf(credential, entry, host).secret,
      })),
      ...connection,
      endpoints,
    });
  }

  const routes = table.routes.map(
    (entry): RouteView => ({
      entry,
      namespace: namespaceOf(entry.id),
      targets: entry.targets.map((target) => {
        const provider = providers.get(target.provider);
        if (!provider) {
          throw refused(`route ${entry.id} uses the provider ${target.provider}, which is not in the table`);
        }
        const healthId = `${provider.healthId}#${target.upstreamModel}`;
        return { entry: target, healthId, provider, endpoints: provider.endpoints };
      }),
    }),
  );

  function connectionOf(
    entry: ProviderEntry,
    host: string,
  ): Pick<ProviderView, 'connectionPrint' | 'connectionSecrets' | 'credentialsPrint'> {
    const { baseUrl, tls, proxy, headers } = entry;
    const used = new Map(
      credentialsOf({ ...entry, keys: [], headers: [] }).map((id) => {
        const isProxys = id === proxy?.username || id === proxy?.password;
        return [id, credentialOf(id, entry, isProxys && proxy ? proxyAuthority(proxy) : host)];
      }),
    );
    const versions = [...used.values()].map(({ fingerprint }) => fingerprint);
    const connectionPrint =
      tls === undefined && proxy === undefined
        ? baseUrl
        : `${baseUrl} ${hash('sha256', JSON.stringify([tls, proxy, versions]), 'base64url')}`;
    const ofHeaders = headers.flatMap(
      ({ credential }) => credentials.get(credential ?? '')?.fingerprint ?? [],
    );
    return {
      connectionPrint,
      connectionSecrets: new Map([...used].map(([id, { secret }]) => [id, secret])),
      credentialsPrint: [connectionPrint, ...ofHeaders].join(' '),
    };
  }

  const unavailable = (table.unavailable ?? []).map((entry) => ({ entry, namespace: namespaceOf(entry.id) }));
  return Object.freeze({
    epoch: table.epoch,
    generation: table.generation,
    settings: table.settings,
    keys,
    routes,
    providers,
    tenantBudgets: new Map(
      table.settings.tenantBudgets?.map(({ namespace, budgets }) => [namespace, budgets]),
    ),
    tenantLimits: new Map(table.settings.tenantLimits?.map(({ namespace, limits }) => [namespace, limits])),
    byModel: indexRoutes(routes),
    unavailable: { routes: unavailable, ...indexRoutes(unavailable) },
  });
}

/**
 * The route a namespace reaches under a model id: its own first, else one shared with it.
 * The operator has resolved conflicts already.
 */
export function findRoute<R extends Found>(
  routes: RouteIndex<R>,
  namespace: string,
  model: string,
): R | undefined {
  const own = routes.own.get(namespace)?.get(model);
  if (own) return own;
  return routes.shared.get(model)?.find((route) => isSharedWith(route, namespace));
}

function isSharedWith({ entry }: Found, namespace: string): boolean {
  return entry.sharedWith === '*' || entry.sharedWith.includes(namespace); // guard: route-sharing
}

/** What a connector wants to know of a provider: with secrets in the clear. */
export function revealConnection({ entry, connectionSecrets }: ProviderView): ConnectionMaterial {
  return buildConnection(entry, (id) => connectionSecrets.get(id)?.reveal() ?? '');
}

/** The part before the slash of `namespace/name`. */
export function namespaceOf(id: string): string {
  return id.slice(0, id.indexOf('/'));
}

function indexRoutes<R extends Found>(routes: readonly R[]): RouteIndex<R> {
  const ownRoutes = new Map<string, Map<string, R>>();
  const sharedRoutes = new Map<string, R[]>();
  for (const route of routes) {
    let own = ownRoutes.get(route.namespace);
    if (!own) {
      own = new Map();
      ownRoutes.set(route.namespace, own);
    }
    const isShared = route.entry.sharedWith === '*' || route.entry.sharedWith.length > 0;
    for (const id of [route.entry.model, ...route.entry.aliases]) {
      own.set(id, route);
      if (!isShared) continue;
      const shared = sharedRoutes.get(id);
      if (shared) shared.push(route);
      else sharedRoutes.set(id, [route]);
    }
  }
  return { own: ownRoutes, shared: sharedRoutes };
}

/** No name of a Provider or key holds a blank. */
function doubtOf(provider: string, key = ''): string {
  return `${provider} ${key}`;
}

function refused(message: string): TableRefusedError {
  return new TableRefusedError('invalid', message);
}
