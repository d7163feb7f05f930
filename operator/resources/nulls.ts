// Removes members without a value, such as `owner:`, as the API server does before validation and defaults. Otherwise a manifest would
// be valid in a cluster and invalid in local mode.

import type { CrdSchema } from './crd.ts';

/** A copy without the null members that the schema knows. A null in a list, or in a free-form object, stays. */
export function withoutNulls(value: unknown, schema: CrdSchema): unknown {
  if (Array.isArray(value)) {
    const { items } = schema;
    return items === undefined ? value : value.map((item) => withoutNulls(item, items));
  }
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, member]) => {
      const inner = schema.properties?.[name] ?? schema.additionalProperties;
      if (inner === undefined) return [[name, member]];
      return member === null ? [] : [[name, withoutNulls(member, inner)]];
    }),
  );
}
