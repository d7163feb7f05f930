// What do the statuses of many objects have in common? Their conditions: those that say the same since the same second are kept
// once. Of fifty thousand statuses they are most of the memory.

import { isRecord } from '../../core/kube/object.ts';

interface StatusPool {
  /** The same status, equal conditions being the same values. It is the caller's to give: it is changed in place. */
  share(status: unknown): unknown;
}

/** Above it the pool is cleared: it must not use the memory that it saves. */
const CONDITIONS_MAX = 10_000;

export function createStatusPool(conditionsMax = CONDITIONS_MAX): StatusPool {
  const conditions = new Map<string, unknown>();

  function shared(condition: unknown): unknown {
    const text = JSON.stringify(condition);
    const known = conditions.get(text);
    if (known !== undefined) return known;
    if (conditions.size >= conditionsMax) conditions.clear();
    conditions.set(text, condition);
    return condition;
  }

  return {
    share(status) {
      if (!isRecord(status) || !Array.isArray(status.conditions)) return status;
      status.conditions = status.conditions.map(shared);
      return status;
    },
  };
}
