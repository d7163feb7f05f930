// A JSON Schema in the smaller language of Gemini's first generations: a form of OpenAPI's, read by a strict parser, which refuses every
// request with a word that it does not know. https://ai.google.dev/api/caching#Schema, read 2026-11.

import { asRecord, isRecord, type JsonRecord } from '../../json/record.ts';

const plainWords = [
  ...[
    'title',
    'description',
    'minItems',
    'maxItems',
    'minLength',
    'maxLength',
    'pattern',
    'minimum',
    'maximum',
  ],
] as const;

const formats: ReadonlySet<unknown> = new Set(['date-time', 'enum', 'int32', 'int64', 'float', 'double']);

/** References are written out; one that leads back to itself says nothing any more. */
export function openApiSchema(schema: unknown): JsonRecord {
  const root = asRecord(schema) ?? {};
  return convert(root, { ...asRecord(root.definitions), ...asRecord(root.$defs) }, []);
}

function convert(schema: JsonRecord, defs: JsonRecord, within: readonly string[]): JsonRecord {
  if (typeof schema.$ref === 'string') {
    const name = schema.$ref.slice(schema.$ref.lastIndexOf('/') + 1);
    const meant = asRecord(defs[name]);
    return meant && !within.includes(name) ? convert(meant, defs, [...within, name]) : { type: 'object' };
  }
  const inner = (value: unknown): JsonRecord => convert(asRecord(value) ?? {}, defs, within);
  const { type, isNullable } = typeOf(schema);
  const values = schema.const === undefined ? schema.enum : [schema.const];
  const texts = Array.isArray(values) ? values.filter((value) => typeof value === 'string') : [];
  const choices = [schema.anyOf, schema.oneOf].find(Array.isArray);
  const properties = isRecord(schema.properties)
    ? Object.fromEntries(Object.entries(schema.properties).map(([name, value]) => [name, inner(value)]))
    : undefined;
  const required = Array.isArray(schema.required)
    ? schema.required.filter(
        (name) => typeof name === 'string' && properties && Object.hasOwn(properties, name),
      )
    : [];
  return {
    ...(type === undefined ? {} : { type }),
    ...(isNullable ? { nullable: true } : {}),
    ...Object.fromEntries(
      plainWords.filter((word) => schema[word] !== undefined).map((word) => [word, schema[word]]),
    ),
    ...(formats.has(schema.format) ? { format: schema.format } : {}),
    ...(texts.length > 0 ? { enum: texts } : {}),
    ...(properties ? { properties } : {}),
    ...(required.length > 0 ? { required } : {}),
    ...(type === 'array' ? { items: inner(schema.items) } : {}),
    ...(choices ? { anyOf: choices.map(inner) } : {}),
  };
}

function typeOf({ type, nullable }: JsonRecord): { readonly type?: unknown; readonly isNullable: boolean } {
  if (!Array.isArray(type)) return { type, isNullable: nullable === true };
  return { type: type.find((each) => each !== 'null'), isNullable: type.includes('null') };
}
