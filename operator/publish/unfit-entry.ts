// Which object cannot be written into the table, and why? Found when it is cut, before anything is written.

import type { ShardKind } from '../../core/contract/manifest.ts';
import type { TableContent } from '../../core/contract/routing-table.ts';

export type TableObjectKind = 'Provider' | 'ModelRoute' | 'ApiKey';
export type TableList = Exclude<keyof TableContent, 'settings'>;
export type TableEntry = NonNullable<TableContent[TableList]>[number];

/** The lists of each kind of shard; its plain bytes are a JSON object of them. */
export const LISTS: Readonly<Record<ShardKind, readonly TableList[]>> = {
  keys: ['keys'],
  routes: ['providers', 'routes', 'unavailable'],
  credentials: ['credentials'],
};

const OBJECT_KINDS: Readonly<Record<TableList, TableObjectKind>> = {
  keys: 'ApiKey',
  providers: 'Provider',
  routes: 'ModelRoute',
  unavailable: 'ModelRoute',
  credentials: 'Provider',
};

/** Nothing was written. The caller decides; `leaveOut` gives the content without the object. */
export class UnfitEntryError extends Error {
  readonly objectKind: TableObjectKind;
  /** `namespace/name`. */
  readonly objectId: string;
  readonly reason: 'too-large' | 'invalid';

  constructor(reason: 'too-large' | 'invalid', list: TableList, entryId: string, fact: string) {
    const objectKind = OBJECT_KINDS[list];
    // The id of a credential has its own name behind that of its Provider.
    const objectId = entryId.split('/').slice(0, 2).join('/');
    super(`${objectKind} ${objectId} cannot be written into the routing table: ${fact}`);
    this.name = 'UnfitEntryError';
    this.objectKind = objectKind;
    this.objectId = objectId;
    this.reason = reason;
  }
}

/** The content without one object, and without what refers to it. */
export function leaveOut(
  content: TableContent,
  { objectKind, objectId }: Pick<UnfitEntryError, 'objectKind' | 'objectId'>,
): TableContent {
  switch (objectKind) {
    case 'ApiKey':
      return { ...content, keys: content.keys.filter(({ id }) => id !== objectId) };
    case 'ModelRoute':
      return {
        ...content,
        routes: content.routes.filter(({ id }) => id !== objectId),
        ...(content.unavailable && { unavailable: content.unavailable.filter(({ id }) => id !== objectId) }),
      };
    case 'Provider': {
      const providers = content.providers.filter(({ id }) => id !== objectId);
      return {
        ...content,
        providers,
        credentials: content.credentials.filter(({ id }) => !id.startsWith(`${objectId}/`)),
        routes: withProviders(content.routes, new Set(providers.map(({ id }) => id))),
      };
    }
  }
}

/** Routes out of service, without those that are served after all. */
export function withoutServed(
  unavailable: TableContent['unavailable'],
  routes: TableContent['routes'],
): Pick<TableContent, 'unavailable'> {
  const served = new Set(routes.map(({ id }) => id));
  const left = unavailable?.filter(({ id }) => !served.has(id)) ?? [];
  return left.length === 0 ? {} : { unavailable: left };
}

/** Routes with those targets alone whose provider is among the given; a route without any goes. */
export function withProviders(
  routes: TableContent['routes'],
  providers: ReadonlySet<string>,
): TableContent['routes'] {
  return routes.flatMap((route) => {
    const targets = route.targets.filter(({ provider }) => providers.has(provider));
    if (targets.length === route.targets.length) return [route];
    return targets.length === 0 ? [] : [{ ...route, targets }];
  });
}
