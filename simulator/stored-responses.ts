// Which responses can later requests refer to? Those that were not made with `store: false`, the newest of them.

import type { Bag } from './checks.ts';
import { isBag } from './checks.ts';

type StoredResponse = {
  /** As it was answered. */
  response: Bag;
  /** All items that led to it, those of earlier responses included. */
  input: unknown[];
};

export type StoredResponses = {
  keep(stored: StoredResponse): void;
  find(id: string): StoredResponse | undefined;
  /** An item of a stored response's output. */
  findItem(id: string): Bag | undefined;
  /** Whether there was such a response. */
  remove(id: string): boolean;
  clear(): void;
};

export function storeResponses(responsesMax: number): StoredResponses {
  const stored = new Map<string, StoredResponse>();
  return {
    keep: (one) => {
      stored.set(String(one.response.id), one);
      const [oldest] = stored.keys();
      if (stored.size > responsesMax && oldest !== undefined) stored.delete(oldest);
    },
    find: (id) => stored.get(id),
    findItem: (id) => {
      for (const { response } of stored.values()) {
        const item = outputOf(response).find((one) => isBag(one) && one.id === id);
        if (isBag(item)) return item;
      }
      return undefined;
    },
    remove: (id) => stored.delete(id),
    clear: () => stored.clear(),
  };
}

/** The first items of a request that follows this response. */
export function itemsOfStored({ input, response }: StoredResponse): unknown[] {
  return [...input, ...outputOf(response)];
}

function outputOf(response: Bag): unknown[] {
  return Array.isArray(response.output) ? response.output : [];
}
