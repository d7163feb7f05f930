// Does a status say what the stored one says already?

import { isDeepStrictEqual } from 'node:util';
import { isRecord } from '../../core/kube/object.ts';

export function isSameStatus(status: object, present: object | undefined): boolean {
  return present !== undefined && isDeepStrictEqual(inOrder(status), inOrder(present));
}

/** Lists that are maps or sets by nature come back from the server in any order; an empty one may come back or not. */
function inOrder(status: object): Record<string, unknown> {
  const ordered = Object.entries(status).flatMap(([name, value]) => {
    if (!Array.isArray(value)) return [[name, value]];
    if (value.length === 0) return [];
    return [[name, new Map(value.map((item) => [idOf(item), item]))]];
  });
  return Object.fromEntries(ordered);
}

function idOf(item: unknown): unknown {
  return isRecord(item) ? (item.type ?? item.name ?? item.id) : item;
}
