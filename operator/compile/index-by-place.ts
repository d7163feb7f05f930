// Where is the object of that namespace and name?

import { differing } from '../lists/differing.ts';
import type { Place } from './order.ts';

export function placeOf({ namespace, name }: Place): string {
  return `${namespace}/${name}`;
}

export type FindByPlace<T> = (namespace: string, name: string) => T | undefined;

export function indexByPlace<T extends Place>(records: readonly T[]): FindByPlace<T> {
  return createPlaceIndex<T>()(records);
}

/** With a memory: only changed records are indexed again. Earlier results also find the present records. */
export function createPlaceIndex<T extends Place>(): (records: readonly T[]) => FindByPlace<T> {
  const byNamespace = new Map<string, Map<string, T>>();
  let last: readonly T[] = [];
  return (records) => {
    const { gone, added } = differing(last, records);
    last = records;
    for (const { namespace, name } of gone) byNamespace.get(namespace)?.delete(name);
    for (const record of added) {
      const names = byNamespace.get(record.namespace) ?? new Map<string, T>();
      byNamespace.set(record.namespace, names.set(record.name, record));
    }
    return (namespace, name) => byNamespace.get(namespace)?.get(name);
  };
}
