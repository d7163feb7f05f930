// Which keys were made in this tab? Kept in its memory alone, for tests and the playground, and gone with the page or its session.

const held = new Map<string, string>();

export const tabKeys = {
  keep: (namespace: string, name: string, key: string) => void held.set(`${namespace}/${name}`, key),
  find: (namespace: string, name: string) => held.get(`${namespace}/${name}`),
  /** `namespace/name`, the newest first. */
  names: () => [...held.keys()].toReversed(),
  forget: () => held.clear(),
};
