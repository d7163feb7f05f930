// What can be read of an object that is wrong? Its members, one by one, each of which may be anything.

export type Loose = Readonly<Record<string, unknown>>;

/** Nothing, where it is no object. */
export function membersOf(value: unknown): Loose {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isObject ? Object.fromEntries(Object.entries(value)) : {};
}
