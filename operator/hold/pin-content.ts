// The content of a table that is pinned to an earlier one: its Providers and ModelRoutes, where others still allow them now; and those
// of its ApiKeys that still work, with their present keys and rights.

import type { Credential, RouteEntry, TableContent } from '../../core/contract/routing-table.ts';
import { type AddressRules, parseAddressRules } from '../../core/egress/address-rules.ts';
import { canonicalJson } from '../canonical-json.ts';
import { regrantProvider } from '../compile/hold-provider.ts';
import { isForbiddenNow } from '../compile/hold-route.ts';
import { indexByPlace } from '../compile/index-by-place.ts';
import { consentOf } from '../compile/last-good.ts';
import { isShared, narrowed } from '../compile/selector.ts';
import { keyOf } from '../compile/verdict-names.ts';
import { withoutServed, withProviders } from '../publish/unfit-entry.ts';
import type { RawObject, Snapshot } from '../watch/snapshot.ts';
import { providerOf } from './forms.ts';

interface PinnedContent {
  readonly content: TableContent;
  /** Objects that have another form in it than they would have without the pin, as `Kind/namespace/name`. */
  readonly differing: ReadonlySet<string>;
}

/**
 * @param then the table that is pinned.
 * @param now what would go out without the pin.
 */
export function pinContent(then: TableContent, now: TableContent, snapshot: Snapshot): PinnedContent {
  const grants = grantsOf(snapshot);
  const providersNow = formsOf(now);
  const formsThen = formsOf(then);
  const providers = [...formsThen.values()].flatMap((form) => {
    const present = providersNow.get(form.entry.id);
    if (present !== undefined && isSame(present.entry, form.entry)) return [present];
    return grants.provider(form) ?? [];
  });
  const routesNow = new Map(now.routes.map((route) => [route.id, route]));
  const routes = then.routes.flatMap((route) => {
    const present = routesNow.get(route.id);
    return present !== undefined && isSame(present, route) ? [present] : grants.route(route);
  });
  // By ApiKey: one that was rotated since goes on with the keys that it has now.
  const holders = new Set(then.keys.map(({ id }) => id));
  const pinned = withProviders(routes, new Set(providers.map(({ entry }) => entry.id)));
  const known = new Set([...then.routes, ...(then.unavailable ?? [])].map(({ id }) => id));
  const content: TableContent = {
    settings: now.settings,
    providers: providers.map(({ entry }) => entry),
    credentials: providers.flatMap(({ credentials }) => credentials).sort((a, b) => (a.id < b.id ? -1 : 1)),
    routes: pinned,
    // A route that is newer than the pinned table does not reserve its id yet.
    ...withoutServed(
      now.unavailable?.filter(({ id }) => known.has(id)),
      pinned,
    ),
    // A key that was revoked, or may do less, must not come back with an old table.
    keys: now.keys.filter(({ id }) => holders.has(id)),
  };
  const differing = new Set([
    ...differingIds(content.providers, now.providers).map((id) => `Provider/${id}`),
    ...differingIds(content.routes, now.routes).map((id) => `ModelRoute/${id}`),
    ...now.keys.filter(({ id }) => !holders.has(id)).map(({ id }) => `ApiKey/${id}`),
  ]);
  return { content, differing };
}

interface Form {
  readonly entry: TableContent['providers'][number];
  readonly credentials: readonly Credential[];
}

function formsOf({ providers, credentials }: TableContent): ReadonlyMap<string, Form> {
  const owned = Map.groupBy(credentials, providerOf);
  return new Map(providers.map((entry) => [entry.id, { entry, credentials: owned.get(entry.id) ?? [] }]));
}

/** What may be used on of an earlier table. */
export interface Grants {
  provider(form: Form): Form | undefined;
  /** None, or one: with those targets alone that it may have. */
  route(route: RouteEntry): RouteEntry[];
}

export function grantsOf({ providers, modelRoutes, secrets, namespaces, platform }: Snapshot): Grants {
  const findSecret = indexByPlace(secrets);
  const providerObjects = byKey('Provider', providers);
  const routeObjects = byKey('ModelRoute', modelRoutes);
  let rules: AddressRules | undefined;
  const consent = (object: RawObject | undefined) =>
    // A deleted object keeps the consent of its last form.
    object === undefined ? ('*' as const) : consentOf(object, namespaces, platform);

  return {
    provider(form) {
      const [namespace = ''] = form.entry.id.split('/');
      rules ??= parseAddressRules(platform.egressAllow, platform.egressDeny);
      const secret = (name: string) => findSecret(namespace, name);
      return regrantProvider(form, { secret, platform, addressRules: rules });
    },
    route(route) {
      const [namespace = ''] = route.id.split('/');
      if (isForbiddenNow(namespace, route, platform)) return [];
      const sharedWith = platform.platformNamespaces.includes(namespace)
        ? narrowed(route.sharedWith, consent(routeObjects.get(`ModelRoute/${route.id}`)))
        : [];
      const targets = route.targets.filter(({ provider }) => {
        if (provider.startsWith(`${namespace}/`)) return true;
        return isShared(consent(providerObjects.get(`Provider/${provider}`)), namespace);
      });
      return targets.length === 0 ? [] : [{ ...route, sharedWith, targets }];
    },
  };
}

function byKey(kind: 'Provider' | 'ModelRoute', objects: readonly RawObject[]) {
  return new Map(
    objects.map((object) => {
      const { namespace, name } = object.metadata;
      return [keyOf({ kind, namespace, name }), object];
    }),
  );
}

function differingIds(
  a: readonly { readonly id: string }[],
  b: readonly { readonly id: string }[],
): readonly string[] {
  const inA = new Map(a.map((entry) => [entry.id, entry]));
  const inB = new Map(b.map((entry) => [entry.id, entry]));
  return [...new Set([...inA.keys(), ...inB.keys()])].filter((id) => !isSame(inA.get(id), inB.get(id)));
}

function isSame(a: object | undefined, b: object | undefined): boolean {
  return a === b || (a !== undefined && b !== undefined && canonicalJson(a) === canonicalJson(b));
}
