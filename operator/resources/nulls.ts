// What becomes of `owner:` with nothing behind it? The API server leaves such members out before it checks
// and fills in defaults; so do we, or a manifest would be right in a cluster and wrong without one.

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
