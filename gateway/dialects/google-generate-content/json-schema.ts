// Which words of a JSON Schema does Gemini take? What it does not know it refuses, or passes over; what has a word of the same meaning gets
// that. https://ai.google.dev/gemini-api/docs/structured-output#json_schema_support, read 2026-11.

import { isRecord, type JsonRecord } from '../../json/record.ts';

const words: ReadonlySet<string> = new Set([
  ...['type', 'enum', 'format', 'title', 'description', '$id', '$anchor', '$ref', '$defs'],
  ...['properties', 'required', 'additionalProperties', 'items', 'prefixItems', 'minItems', 'maxItems'],
  ...['minimum', 'maximum', 'anyOf', 'oneOf'],
]);

/** Words that hold a schema, or a list of them. */
const schemaWords: ReadonlySet<string> = new Set([
  'items',
  'prefixItems',
  'additionalProperties',
  'anyOf',
  'oneOf',
]);

/** Words that hold schemas by name. */
const namedWords: ReadonlySet<string> = new Set(['properties', '$defs']);

export function geminiSchema(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(geminiSchema);
  if (!isRecord(schema)) return schema;
  const known = withKnownWords(schema);
  // A reference has no other words beside it.
  if (typeof known.$ref === 'string') {
    const { $ref, $defs } = known;
    return $defs === undefined ? { $ref } : { $ref, $defs: cleanUnder('$defs', $defs) };
  }
  return Object.fromEntries(
    Object.entries(known)
      .filter(([word]) => words.has(word))
      .map(([word, value]) => [word, cleanUnder(word, value)]),
  );
}

function cleanUnder(word: string, value: unknown): unknown {
  if (schemaWords.has(word)) return geminiSchema(value);
  if (!namedWords.has(word) || !isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, schema]) => [name, geminiSchema(schema)]));
}

function withKnownWords(schema: JsonRecord): JsonRecord {
  const { const: only, definitions, allOf, $ref, ...rest } = schema;
  const [single, ...more] = Array.isArray(allOf) ? allOf : [];
  return {
    // One schema of which all must hold says the same as itself.
    ...(isRecord(single) && more.length === 0 ? withKnownWords(single) : {}),
    ...rest,
    ...(only === undefined || rest.enum !== undefined ? {} : { enum: [only] }),
    ...(definitions === undefined || rest.$defs !== undefined ? {} : { $defs: definitions }),
    ...(typeof $ref === 'string' ? { $ref: $ref.replace(/^#\/definitions\//, '#/$defs/') } : {}),
  };
}
