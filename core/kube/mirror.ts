// What do we hold of the server's objects, and what has changed? A store, the differences as events, and nothing lost.

import { type KubeObject, keyOf } from './object.ts';
import { isOlder } from './resource-version.ts';

/** A reported deletion is certain. An absence from a list may be the fault of the server that answered. */
export type DeletionCause = 'seen' | 'absent-after-relist';

/** The key is `namespace/name`, or `name`. */
export type ReflectorEvent<T> =
  | { readonly type: 'upserted'; readonly key: string; readonly object: T; readonly previous: T | undefined }
  | {
      readonly type: 'deleted';
      readonly key: string;
      /** As it was stored last. */
      readonly object: T;
      readonly cause: DeletionCause;
    }
  /** After each complete list. */
  | { readonly type: 'listed' };

interface MirrorOptions<T> {
  convert(object: KubeObject): T;
  onEvent(event: ReflectorEvent<T>): void;
  /** This object cannot be read and stays as it was. */
  onUnreadable(key: string, error: unknown): void;
}

interface Mirror<T> {
  readonly store: ReadonlyMap<string, T>;
  /** Also where one has begun and did not end: it is forgotten. */
  beginList(): void;
  addListed(object: KubeObject): void;
  /** Removes objects that were not in the list. */
  endList(): void;
  upsert(object: KubeObject): void;
  remove(object: KubeObject): void;
  /** The last error of the handler; its events come again with the next list. */
  takeFailure(): { readonly error: unknown } | undefined;
}

export function makeMirror<T>(options: MirrorOptions<T>): Mirror<T> {
  const store = new Map<string, T>();
  /** The version of each object that the handler knows. Absent: the handler does not know the stored object. */
  const versions = new Map<string, string>();
  /** Deletions that the handler has not taken. */
  const pending = new Map<string, { readonly object: T; readonly cause: DeletionCause }>();
  let listed = new Set<string>();
  let failure: { readonly error: unknown } | undefined;

  function notify(event: ReflectorEvent<T>): boolean {
    try {
      options.onEvent(event);
      return true;
    } catch (error) {
      failure = { error };
      return false;
    }
  }

  function put(key: string, object: KubeObject): void {
    const { resourceVersion } = object.metadata;
    // Objects of the API always have one; without it nothing can be said to be the same.
    if (resourceVersion !== undefined && versions.get(key) === resourceVersion) return;
    let value: T;
    try {
      value = options.convert(object);
    } catch (error) {
      options.onUnreadable(key, error);
      return;
    }
    const previous = store.get(key) ?? pending.get(key)?.object;
    store.set(key, value);
    pending.delete(key);
    const isHandled = notify({ type: 'upserted', key, object: value, previous });
    if (isHandled && resourceVersion !== undefined) versions.set(key, resourceVersion);
    else versions.delete(key);
  }

  function drop(key: string, cause: DeletionCause): void {
    const object = store.get(key);
    if (object === undefined) return;
    store.delete(key);
    versions.delete(key);
    notifyDeleted(key, object, cause);
  }

  function notifyDeleted(key: string, object: T, cause: DeletionCause): void {
    if (notify({ type: 'deleted', key, object, cause })) pending.delete(key);
    else pending.set(key, { object, cause });
  }

  return {
    store,
    beginList() {
      listed = new Set();
    },
    addListed(object) {
      const key = keyOf(object);
      listed.add(key);
      put(key, object);
    },
    endList() {
      for (const [key, { object, cause }] of [...pending]) notifyDeleted(key, object, cause);
      for (const key of [...store.keys()]) if (!listed.has(key)) drop(key, 'absent-after-relist');
      listed = new Set();
      notify({ type: 'listed' });
    },
    upsert(object) {
      const key = keyOf(object);
      if (isOlder(object.metadata.resourceVersion, versions.get(key))) return;
      put(key, object);
    },
    remove(object) {
      const key = keyOf(object);
      if (isOlder(object.metadata.resourceVersion, versions.get(key))) return;
      drop(key, 'seen');
    },
    takeFailure() {
      const taken = failure;
      failure = undefined;
      return taken;
    },
  };
}
