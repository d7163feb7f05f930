// A JSON schema as structured output of this dialect takes it: objects are closed, and what the
// grammar cannot hold the model to is said in the description.
// Anthropic documentation, "Structured outputs", JSON Schema limitations.

import { isRecord, type JsonRecord } from '../../json/record.ts';

export function encodeOutputSchema(schema: unknown): unknown {
  if (!isRecord(schema)) return schema;
  const kept = new Map<string, unknown>();
  const said: string[] = [];
  for (const [name, value] of Object.entries(schema)) {
    if (isUnsupported(name, value)) said.push(`${name}: ${JSON.stringify(value)}`);
    else if (!ignored.has(name)) kept.set(name, encodeMember(name, value));
  }
  if (said.length > 0) kept.set('description', describe(schema.description, said));
  if (isObjectSchema(schema)) kept.set('additionalProperties', false);
  return Object.fromEntries(kept);
}

const ignored: ReadonlySet<string> = new Set(['$schema', 'encrypted']);

const unsupported: ReadonlySet<string> = new Set([
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'minLength',
  'maxLength',
  'maxItems',
  'uniqueItems',
  'contains',
  'minContains',
  'maxContains',
  'minProperties',
  'maxProperties',
  'patternProperties',
  'propertyNames',
]);

const formats: ReadonlySet<unknown> = new Set([
  'date-time',
  'time',
  'date',
  'duration',
  'email',
  'hostname',
  'uri',
  'ipv4',
  'ipv6',
  'uuid',
]);

function isUnsupported(name: string, value: unknown): boolean {
  if (name === 'minItems') return value !== 0 && value !== 1;
  if (name === 'format') return !formats.has(value);
  return unsupported.has(name);
}

/** Keywords that hold schemas; what stands anywhere else, as under `enum` or `default`, is left alone. */
function encodeMember(name: string, value: unknown): unknown {
  if (schemasByName.has(name) && isRecord(value)) {
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, encodeOutputSchema(inner)]));
  }
  if (schemaLists.has(name) && Array.isArray(value)) return value.map(encodeOutputSchema);
  return name === 'items' ? encodeOutputSchema(value) : value;
}

const schemasByName: ReadonlySet<string> = new Set(['properties', '$defs', 'definitions']);
const schemaLists: ReadonlySet<string> = new Set(['anyOf', 'allOf', 'oneOf', 'prefixItems']);

function isObjectSchema({ type, properties }: JsonRecord): boolean {
  return type === 'object' || (Array.isArray(type) && type.includes('object')) || isRecord(properties);
}

function describe(description: unknown, said: readonly string[]): string {
  const lines = said.join(', ');
  return typeof description === 'string' && description !== '' ? `${description}\n\n${lines}` : lines;
}

/** Whether every object of the schema requires all of its properties. */
export function requiresAll(schema: unknown): boolean {
  if (Array.isArray(schema)) return schema.every(requiresAll);
  if (!isRecord(schema)) return true;
  const names = isRecord(schema.properties) ? Object.keys(schema.properties) : [];
  const required = new Set<unknown>(Array.isArray(schema.required) ? schema.required : []);
  return names.every((name) => required.has(name)) && Object.values(schema).every(requiresAll);
}
