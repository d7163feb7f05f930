// What is in a list that is followed? The answer to the last question, merged with later events; each object in its newest form.

import type { KubeObject } from '../words/kube.ts';

export interface Heard<Kind> {
  readonly isDeleted: boolean;
  readonly object: Kind;
}

export const keyOf = ({ metadata }: KubeObject): string => `${metadata.namespace}/${metadata.name}`;

/** Versions grow, as Kubernetes counts them; what has none is old. */
export function versionOf({ metadata }: KubeObject): number {
  return Number(metadata.resourceVersion ?? 0) || 0;
}

export function newer<Kind extends KubeObject>(
  one: Kind | undefined,
  other: Kind | undefined,
): Kind | undefined {
  if (one === undefined || other === undefined) return other ?? one;
  return versionOf(other) >= versionOf(one) ? other : one;
}

/** Events from before the list are in the list already. @param listVersion of the list; undefined: all events are. */
export function heardSince<Kind extends KubeObject>(
  heard: ReadonlyMap<string, Heard<Kind>>,
  listVersion: string | undefined,
): ReadonlyMap<string, Heard<Kind>> {
  const most = Number(listVersion ?? Number.POSITIVE_INFINITY);
  return new Map([...heard].filter(([, { object }]) => versionOf(object) > most));
}

/** Sorted by namespace and name. */
export function mergeHeard<Kind extends KubeObject>(
  listed: readonly Kind[],
  heard: ReadonlyMap<string, Heard<Kind>>,
): readonly Kind[] {
  const all = new Map(listed.map((object) => [keyOf(object), object]));
  for (const [key, { isDeleted, object }] of heard) {
    const before = all.get(key);
    if (before !== undefined && versionOf(before) > versionOf(object)) continue;
    if (isDeleted) all.delete(key);
    else all.set(key, object);
  }
  return [...all.values()].sort((a, b) => keyOf(a).localeCompare(keyOf(b)));
}
