// Applies a function to every text in a JSON object. Names are texts too.

import type { JsonRecord } from './record.ts';

/** Deeper nesting is dropped: writing it as JSON could overflow the stack. */
const depthMax = 8;

export function mapTexts(members: JsonRecord, change: (text: string) => string, depth = 1): JsonRecord {
  const changed = (value: unknown): unknown => {
    if (typeof value === 'string') return change(value);
    if (typeof value !== 'object' || value === null) return value;
    if (depth >= depthMax) return null;
    return Array.isArray(value)
      ? Object.values(mapTexts({ ...value }, change, depth + 1))
      : mapTexts({ ...value }, change, depth + 1);
  };
  return Object.fromEntries(Object.entries(members).map(([name, value]) => [change(name), changed(value)]));
}
