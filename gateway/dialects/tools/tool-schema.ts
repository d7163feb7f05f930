// Which words of a JSON Schema do OpenAI-shaped upstreams take? All but two: `$schema`, and Codex's own
// `encrypted`. Everything else is forwarded unchanged.

import { isRecord, type JsonRecord } from '../../json/record.ts';

/** Schema of a function without parameters. */
export const emptySchema: JsonRecord = { type: 'object', properties: {} };

/**
 * The schema of what a function takes, as OpenAI-shaped upstreams take it: OpenAI refuses one that names no properties, also where
 * there are none ("object schema missing properties"). Inside of it they may be missing.
 */
export function functionSchema(schema: unknown): unknown {
  const cleaned = cleanSchema(schema) ?? emptySchema;
  if (!isRecord(cleaned) || cleaned.properties !== undefined) return cleaned;
  const isObject = cleaned.type === 'object' || Object.keys(cleaned).length === 0;
  return isObject ? { ...cleaned, ...emptySchema } : cleaned;
}

/** A schema without the words that upstreams refuse; names of properties are not keywords. */
export function cleanSchema(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(cleanSchema);
  if (!isRecord(schema)) return schema;
  return Object.fromEntries(
    Object.entries(schema)
      .filter(([word]) => word !== '$schema' && word !== 'encrypted')
      .map(([word, value]) => [word, cleanUnder(word, value)]),
  );
}

function cleanUnder(word: string, value: unknown): unknown {
  if (schemaWords.has(word)) return cleanSchema(value);
  if (!namedSchemaWords.has(word) || !isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, schema]) => [name, cleanSchema(schema)]));
}

/** Words that hold a schema, or a list of them. */
const schemaWords: ReadonlySet<string> = new Set([
  ...['items', 'prefixItems', 'contains', 'additionalItems', 'unevaluatedItems'],
  ...['additionalProperties', 'unevaluatedProperties', 'propertyNames'],
  ...['allOf', 'anyOf', 'oneOf', 'not', 'if', 'then', 'else'],
]);

/** Words that hold schemas by name. */
const namedSchemaWords: ReadonlySet<string> = new Set([
  ...['properties', 'patternProperties', 'dependentSchemas', '$defs', 'definitions'],
]);
