// Which keys were made in this tab? Kept in its memory alone, for tests and the playground, and gone with the page or its session.

const held = new Map<string, { readonly key: string; readonly sinceMs: number }>();

/** So long gateways may take to know a key; one that they refuse later is disabled, deleted or expired. */
const newForMs = 120_000;

export const tabKeys = {
  keep: (namespace: string, name: string, key: string) =>
    void held.set(`${namespace}/${name}`, { key, sinceMs: performance.now() }),
  find: (namespace: string, name: string) => held.get(`${namespace}/${name}`)?.key,
  isNew: (namespace: string, name: string) => {
    const { sinceMs } = held.get(`${namespace}/${name}`) ?? {};
    return sinceMs !== undefined && performance.now() - sinceMs < newForMs;
  },
  /** `namespace/name`, the newest first. */
  names: () => [...held.keys()].toReversed(),
  forget: () => held.clear(),
};
