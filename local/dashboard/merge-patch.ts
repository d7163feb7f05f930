// What is a value with a JSON merge patch (RFC 7386) put on it? Pure.

import { isRecord } from '../../core/kube/object.ts';

export function mergePatch(value: unknown, patch: unknown): unknown {
  if (!isRecord(patch)) return patch;
  const merged = new Map(Object.entries(isRecord(value) ? value : {}));
  for (const [name, part] of Object.entries(patch)) {
    if (part === null) merged.delete(name);
    else merged.set(name, mergePatch(merged.get(name), part));
  }
  return Object.fromEntries(merged);
}
