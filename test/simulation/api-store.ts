// What does an API server do with a request, once it has come? Single objects, compare-and-swap by resourceVersion, a history
// for watches that can be compacted away: the promises of the real one that an operator may build on, and no more.

import { isRecord, type KubeObject } from '../../core/kube/object.ts';
import { timeOf } from '../../core/kube/time.ts';

/** An object as it is; never changed, only replaced. */
export interface Stored {
  readonly path: string;
  /** `group/version/plural`, without the slash in front for the core group. */
  readonly resource: string;
  readonly namespace: string | undefined;
  readonly name: string;
  readonly version: number;
  readonly value: KubeObject;
  readonly createdMs: number;
  text(): string;
  /** As a PartialObjectMetadata. */
  metaText(): string;
}

export interface Change {
  readonly version: number;
  readonly resource: string;
  readonly path: string;
  readonly before: Stored | undefined;
  readonly after: Stored | undefined;
  /** Who wrote it. */
  readonly by: string;
}

export interface Target {
  readonly resource: string;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly part?: string | undefined;
}

/** What the server says no with. */
export interface Refusal {
  readonly status: number;
  readonly reason: string;
}

export type Result = { readonly ok: true; readonly stored: Stored } | ({ readonly ok: false } & Refusal);

export interface ApiStore {
  version(): number;
  find(path: string): Stored | undefined;
  /** In the order of their paths. */
  list(resource: string, namespace?: string): readonly Stored[];
  /** As it was some writes ago; undefined where it was not there. */
  findAt(path: string, version: number): Stored | undefined;
  create(by: string, target: Target, body: unknown): Result;
  replace(by: string, path: string, body: unknown): Result;
  /** Server-side apply and merge patch are the same here: nobody but us writes what we write. */
  patch(by: string, target: Target, body: unknown, isApply: boolean): Result;
  remove(by: string, path: string, preconditions: unknown): Result;
  /** From there on; undefined where that is compacted away. */
  since(version: number): readonly Change[] | undefined;
  compact(): void;
  onChange(listener: (change: Change) => void): void;
}

const gone: Result = { ok: false, status: 404, reason: 'NotFound' };
const conflict: Result = { ok: false, status: 409, reason: 'Conflict' };

export function parsePath(path: string): Target {
  const found =
    /^\/(?:api|apis\/([^/]+))\/([^/]+)(?:\/namespaces\/([^/]+))?\/([^/]+)(?:\/([^/]+)(?:\/([^/]+))?)?$/.exec(
      path,
    );
  const [, group, version, namespace, plural, name, part] = found ?? [];
  if (version === undefined || plural === undefined)
    throw new RangeError(`No API server has the path ${path}`);
  return {
    resource: group === undefined ? `${version}/${plural}` : `${group}/${version}/${plural}`,
    namespace,
    name,
    part,
  };
}

export function pathOf({ resource, namespace, name }: Target): string {
  const parts = resource.split('/');
  const plural = parts.pop() ?? '';
  const root = parts.length === 1 ? '/api' : '/apis';
  const place = namespace === undefined ? '' : `/namespaces/${namespace}`;
  return `${root}/${parts.join('/')}${place}/${plural}/${name ?? ''}`;
}

export function makeApiStore(wallMs: () => number): ApiStore {
  const objects = new Map<string, Stored>();
  /** The same, and in the order of the paths once somebody has asked for it. */
  const byResource = new Map<string, Map<string, Stored>>();
  const inOrder = new Map<string, readonly Stored[]>();
  /** Of each path, in the order of the writes. */
  const pasts = new Map<string, Change[]>();
  const history: Change[] = [];
  const listeners: ((change: Change) => void)[] = [];
  let version = 1_000;
  let compactedTo = 0;
  let uids = 0;

  function put(by: string, before: Stored | undefined, target: Target, value: KubeObject): Stored {
    version += 1;
    const after = makeStored(target, version, value, before?.createdMs ?? wallMs());
    objects.set(after.path, after);
    const siblings = byResource.get(after.resource) ?? new Map<string, Stored>();
    byResource.set(after.resource, siblings.set(after.path, after));
    record(by, after.path, before, after);
    return after;
  }

  function record(by: string, path: string, before: Stored | undefined, after: Stored | undefined): void {
    const resource = before?.resource ?? after?.resource ?? '';
    const change = { version, resource, path, before, after, by };
    history.push(change);
    const past = pasts.get(path) ?? [];
    pasts.set(path, past);
    past.push(change);
    inOrder.delete(resource);
    for (const listener of listeners) listener(change);
  }

  /** Spec moves the generation of a custom resource; nothing else does. */
  function merged(before: Stored, next: KubeObject): KubeObject {
    const { uid, creationTimestamp, generation = 1 } = before.value.metadata;
    const isCustom = before.resource.includes('penstock.dev');
    const isOther = isCustom && JSON.stringify(before.value.spec) !== JSON.stringify(next.spec);
    return {
      ...next,
      metadata: {
        ...next.metadata,
        ...(uid === undefined ? {} : { uid }),
        ...(creationTimestamp === undefined ? {} : { creationTimestamp }),
        ...(isCustom ? { generation: isOther ? generation + 1 : generation } : {}),
      },
    };
  }

  function settle(by: string, before: Stored, next: KubeObject): Result {
    const wanted = versionOf(next);
    if (wanted !== undefined && wanted !== String(before.version)) return conflict;
    if (before.value.immutable === true && JSON.stringify(before.value.data) !== JSON.stringify(next.data)) {
      return { ok: false, status: 422, reason: 'Invalid' };
    }
    const value = merged(before, next);
    // A write that changes nothing makes no new version.
    if (textOf(value, before.version) === before.text()) return { ok: true, stored: before };
    return { ok: true, stored: put(by, before, before, value) };
  }

  return {
    version: () => version,
    find: (path) => objects.get(path),
    list(resource, namespace) {
      const all =
        inOrder.get(resource) ??
        [...(byResource.get(resource)?.values() ?? [])].sort((a, b) => (a.path < b.path ? -1 : 1));
      inOrder.set(resource, all);
      return namespace === undefined ? all : all.filter((one) => one.namespace === namespace);
    },
    findAt: (path, at) => pasts.get(path)?.findLast((change) => change.version <= at)?.after,
    create(by, target, body) {
      const given = asObject(body);
      const named = { ...target, name: given.metadata.name };
      const path = pathOf(named);
      if (objects.has(path)) return { ok: false, status: 409, reason: 'AlreadyExists' };
      uids += 1;
      const { resourceVersion: _, ...metadata } = given.metadata;
      const value = {
        ...given,
        metadata: {
          ...metadata,
          uid: `uid-${uids}`,
          creationTimestamp: timeOf(wallMs()),
          ...(target.resource.includes('penstock.dev') ? { generation: 1 } : {}),
        },
      };
      return { ok: true, stored: put(by, undefined, named, value) };
    },
    replace(by, path, body) {
      const before = objects.get(path);
      return before === undefined ? gone : settle(by, before, asObject(body));
    },
    patch(by, target, body, isApply) {
      const before = objects.get(pathOf(target));
      if (before === undefined) return gone;
      const change = asObject({ metadata: { name: before.name }, ...(isRecord(body) ? body : {}) });
      const wanted = versionOf(change);
      if (wanted !== undefined && wanted !== String(before.version)) return conflict;
      if (target.part === 'status')
        return settle(by, before, { ...withoutVersion(before.value), status: change.status });
      if (isApply)
        throw new RangeError(`Nobody here applies ${pathOf(target)}; teach the simulation what that means`);
      return settle(by, before, asObject(mergeJson(withoutVersion(before.value), change)));
    },
    remove(by, path, preconditions) {
      const before = objects.get(path);
      if (before === undefined) return gone;
      const { uid, resourceVersion } = isRecord(preconditions) ? preconditions : {};
      if (uid !== undefined && uid !== before.value.metadata.uid) return conflict;
      if (resourceVersion !== undefined && resourceVersion !== String(before.version)) return conflict;
      version += 1;
      objects.delete(path);
      byResource.get(before.resource)?.delete(path);
      record(by, path, before, undefined);
      return { ok: true, stored: before };
    },
    since(from) {
      if (from < compactedTo) return undefined;
      let index = history.length;
      while (index > 0 && (history[index - 1]?.version ?? 0) > from) index -= 1;
      return history.slice(index);
    },
    compact() {
      compactedTo = version;
    },
    onChange: (listener) => void listeners.push(listener),
  };
}

function makeStored(target: Target, version: number, value: KubeObject, createdMs: number): Stored {
  let text: string | undefined;
  let metaText: string | undefined;
  const { resource, namespace, name = '' } = target;
  return {
    path: pathOf({ ...target, part: undefined }),
    resource,
    namespace,
    name,
    version,
    value,
    createdMs,
    text() {
      text ??= textOf(value, version);
      return text;
    },
    metaText() {
      metaText ??= textOf({ metadata: value.metadata }, version);
      return metaText;
    },
  };
}

function textOf(value: KubeObject, version: number): string {
  return JSON.stringify({ ...value, metadata: { ...value.metadata, resourceVersion: String(version) } });
}

function versionOf({ metadata }: KubeObject): string | undefined {
  return metadata.resourceVersion;
}

function withoutVersion(value: KubeObject): KubeObject {
  const { resourceVersion: _, ...metadata } = value.metadata;
  return { ...value, metadata };
}

function mergeJson(before: unknown, change: unknown): unknown {
  if (!isRecord(change)) return change;
  const merged: Record<string, unknown> = isRecord(before) ? { ...before } : {};
  for (const [name, value] of Object.entries(change)) {
    if (value === null) delete merged[name];
    else merged[name] = mergeJson(merged[name], value);
  }
  return merged;
}

function asObject(value: unknown): KubeObject {
  if (!isRecord(value) || !isRecord(value.metadata) || typeof value.metadata.name !== 'string') {
    throw new TypeError('This is no object of an API server');
  }
  return { ...value, metadata: { ...value.metadata, name: value.metadata.name } };
}

/** `a=b`, `a!=b`, `a`, with commas between them. */
export function labelMatcher(selector: string | undefined): (stored: Stored) => boolean {
  if (selector === undefined || selector === '') return () => true;
  const terms = selector.split(',').map((term) => {
    const [, name = '', sign, wanted] = /^([^!=]+)(!=|=)?(.*)$/.exec(term) ?? [];
    return { name, sign, wanted };
  });
  return ({ value }) => {
    const labels = value.metadata.labels ?? {};
    return terms.every(({ name, sign, wanted }) =>
      sign === undefined ? Object.hasOwn(labels, name) : (labels[name] === wanted) === (sign === '='),
    );
  };
}

/** `metadata.name=x`. */
export function fieldMatcher(selector: string | undefined): (stored: Stored) => boolean {
  if (selector === undefined || selector === '') return () => true;
  const [, wanted] = /^metadata\.name=(.+)$/.exec(selector) ?? [];
  if (wanted === undefined) throw new RangeError(`The field selector ${selector} is not understood`);
  return ({ name }) => name === wanted;
}
