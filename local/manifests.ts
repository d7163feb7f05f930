// What have people declared? The objects of the manifests, and what is wrong with the files they stand in.

import type {
  ConfigMapRecord,
  NamespaceRecord,
  RawObject,
  RawPolicy,
  SecretRecord,
} from '../operator/watch/snapshot.ts';

/** Which piece of a text an object is. */
export interface Spot {
  /** All of the file. */
  readonly content: string;
  /** Counted from 0. */
  readonly document: number;
  /** In the document; empty unless it is an item of a list. */
  readonly path: readonly (string | number)[];
}

/** The place of an object. */
export interface Place {
  readonly file: string;
  readonly spot: Spot;
  /** The line of the first field that is there, each such as `spec.targets[1].name`; else of what is around. */
  lineOf(...fieldPaths: readonly string[]): number;
}

/** Something to tell: where, about which object, what and what to do. */
export interface Remark {
  /** `routes.yaml:12`; absent for what does not stand in a file. */
  readonly place?: string;
  /** The same remark has the same id, also when lines have been put above it. */
  readonly id: string;
  readonly text: string;
}

export interface Manifests {
  readonly providers: readonly RawObject[];
  readonly modelRoutes: readonly RawObject[];
  readonly apiKeys: readonly RawObject[];
  readonly policies: readonly RawPolicy[];
  readonly secrets: readonly SecretRecord[];
  readonly configMaps: readonly ConfigMapRecord[];
  readonly namespaces: readonly NamespaceRecord[];
  /** By `objectId`; objects that stand in no file have none. */
  readonly places: ReadonlyMap<string, Place>;
  /** Files of which something could not be read: there may be more in them than is known. */
  readonly unread: ReadonlySet<string>;
  /** What could not be read. */
  readonly problems: readonly Remark[];
  /** Ignored parts that do no harm. */
  readonly notes: readonly Remark[];
}

export const noManifests: Manifests = {
  providers: [],
  modelRoutes: [],
  apiKeys: [],
  policies: [],
  secrets: [],
  configMaps: [],
  namespaces: [],
  places: new Map(),
  unread: new Set(),
  problems: [],
  notes: [],
};

/** @param namespace Empty: it is in none. */
export function objectId(kind: string, namespace: string, name: string): string {
  return namespace === '' ? `${kind} ${name}` : `${kind} ${namespace}/${name}`;
}

export function formatRemark({ place, text }: Remark): string {
  return place === undefined ? text : `${place}: ${text}`;
}

/** Both together. Where they share a name or a model id, the first wins. */
export function overlayManifests(first: Manifests, second: Manifests): Manifests {
  const models = new Set(first.modelRoutes.flatMap(claimedModels));
  return {
    providers: withoutNames(first.providers, second.providers, nameOfObject),
    modelRoutes: withoutNames(first.modelRoutes, second.modelRoutes, nameOfObject).filter(
      (route) => first.modelRoutes.includes(route) || !claimedModels(route).some((id) => models.has(id)),
    ),
    apiKeys: withoutNames(first.apiKeys, second.apiKeys, nameOfObject),
    policies: withoutNames(first.policies, second.policies, ({ metadata }) => metadata.name),
    secrets: withoutNames(first.secrets, second.secrets, ({ namespace, name }) => `${namespace}/${name}`),
    configMaps: withoutNames(
      first.configMaps,
      second.configMaps,
      ({ namespace, name }) => `${namespace}/${name}`,
    ),
    namespaces: withoutNames(first.namespaces, second.namespaces, ({ name }) => name),
    places: new Map([...second.places, ...first.places]),
    unread: first.unread.union(second.unread),
    problems: [...first.problems, ...second.problems],
    notes: [...first.notes, ...second.notes],
  };
}

function withoutNames<T>(first: readonly T[], second: readonly T[], nameOf: (item: T) => string): T[] {
  const taken = new Set(first.map(nameOf));
  return [...first, ...second.filter((item) => !taken.has(nameOf(item)))];
}

function nameOfObject({ metadata }: RawObject): string {
  return `${metadata.namespace}/${metadata.name}`;
}

/** As written, unchecked: the namespace and the ids that its callers would use. */
function claimedModels({ metadata, spec }: RawObject): readonly string[] {
  if (typeof spec !== 'object' || spec === null) return [];
  const model = 'model' in spec ? [spec.model] : [];
  const aliases = 'aliases' in spec && Array.isArray(spec.aliases) ? spec.aliases : [];
  return [...model, ...aliases].map((id) => `${metadata.namespace} ${String(id)}`);
}
