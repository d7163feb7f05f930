// What can be read of a value that may be anything? Whether it is an object, and its members, one by one.

type Loose = Readonly<Record<string, unknown>>;

export function isLoose(value: unknown): value is Loose {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Nothing, where it is no object. */
export function membersOf(value: unknown): Loose {
  return isLoose(value) ? value : {};
}
