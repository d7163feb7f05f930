// A JSON schema as structured output of this dialect takes it: objects are closed, and what the
// grammar cannot hold the model to is said in the description.
// Anthropic documentation, "Structured outputs", JSON Schema limitations.

import { isRecord, type JsonRecord } from '../../json/record.ts';
import { writeJson } from '../../json/write-json.ts';

export function encodeOutputSchema(schema: unknown): unknown {
  if (!isRecord(schema)) return schema;
  const kept = new Map<string, unknown>();
  const said: string[] = [];
  for (const [name, value] of Object.entries(schema)) {
    if (isUnsupported(name, value)) said.push(`${name}: ${writeJson(value)}`);
    else if (!ignored.has(name)) kept.set(supportedName(name, schema), encodeMember(name, value));
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

/** The grammar knows `anyOf` alone; a model seldom writes what two alternatives would take. */
function supportedName(name: string, schema: JsonRecord): string {
  return name === 'oneOf' && schema.anyOf === undefined ? 'anyOf' : name;
}

/** Keywords that hold schemas. All other values, such as those of `enum` or `default`, stay unchanged. */
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
  return hasType(type, 'object') || isRecord(properties);
}

function hasType(type: unknown, name: string): boolean {
  return type === name || (Array.isArray(type) && type.includes(name));
}

function describe(description: unknown, said: readonly string[]): string {
  const lines = said.join(', ');
  return typeof description === 'string' && description !== '' ? `${description}\n\n${lines}` : lines;
}

/**
 * Whether structured output can give every value of the schema. A map and a free object would be answered `{}`, and the
 * dialect refuses schemas that contain themselves.
 */
export function fitsStructuredOutput(schema: unknown): boolean {
  return isClosed(schema) && !containsItself(schema);
}

function isClosed(schema: unknown): boolean {
  if (!isRecord(schema) || saysNothing(schema)) return false;
  if (Object.keys(schema).some((name) => inexpressible.has(name))) return false;
  if (schema.oneOf !== undefined && schema.anyOf !== undefined) return false;
  if (isObjectSchema(schema) && isOpenObject(schema)) return false;
  if (
    Array.isArray(schema.enum) &&
    schema.enum.some((value) => typeof value === 'object' && value !== null)
  ) {
    return false;
  }
  if (Array.isArray(schema.allOf) && schema.allOf.some((part) => isRecord(part) && '$ref' in part))
    return false;
  return innerSchemas(schema).every(isClosed);
}

/** Any value is right. */
function saysNothing(schema: JsonRecord): boolean {
  return !Object.keys(schema).some((name) => shaping.has(name));
}

const shaping: ReadonlySet<string> = new Set([
  ...['type', 'enum', 'const', '$ref', 'properties', 'items', 'anyOf', 'oneOf', 'allOf'],
]);

/** Words of shape that the dialect refuses, and that a description cannot stand for. */
const inexpressible: ReadonlySet<string> = new Set([
  ...['not', 'if', 'then', 'else', 'prefixItems', 'patternProperties', 'unevaluatedProperties'],
  ...['dependentSchemas', 'dependentRequired', '$dynamicRef'],
]);

/** If nothing is said about further members, a schema that names its members means these alone. */
function isOpenObject({ properties, additionalProperties: more }: JsonRecord): boolean {
  return more === undefined ? !isRecord(properties) : more !== false;
}

function innerSchemas(schema: JsonRecord): readonly unknown[] {
  return Object.entries(schema).flatMap(([name, value]) => {
    if (schemasByName.has(name) && isRecord(value)) return Object.values(value);
    if (schemaLists.has(name) && Array.isArray(value)) return value;
    return name === 'items' ? [value] : [];
  });
}

/** Whether a reference is circular, or has no target in this schema. Chains of references may be long. */
function containsItself(root: unknown): boolean {
  const open = new Set<string>();
  const done = new Set<string>();
  const waiting = pointersIn(root);
  for (let pointer = waiting.at(-1); pointer !== undefined; pointer = waiting.at(-1)) {
    if (done.has(pointer) || open.delete(pointer)) {
      done.add(pointer);
      waiting.pop();
      continue;
    }
    const target = findPointer(root, pointer);
    if (target === undefined) return true;
    open.add(pointer);
    for (const next of pointersIn(target)) {
      if (open.has(next)) return true;
      waiting.push(next);
    }
  }
  return false;
}

function pointersIn(schema: unknown, found: string[] = []): string[] {
  if (!isRecord(schema)) return found;
  if (typeof schema.$ref === 'string') found.push(schema.$ref);
  for (const inner of innerSchemas(schema)) pointersIn(inner, found);
  return found;
}

function findPointer(root: unknown, pointer: string): unknown {
  if (!pointer.startsWith('#')) return undefined;
  let found: unknown = root;
  for (const step of pointer.split('/').slice(1)) {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~');
    if (Array.isArray(found)) found = found[Number(name)];
    else found = isRecord(found) && Object.hasOwn(found, name) ? found[name] : undefined;
  }
  return found;
}

/** Whether every object of the schema requires all of its properties. */
export function requiresAll(schema: unknown): boolean {
  if (Array.isArray(schema)) return schema.every(requiresAll);
  if (!isRecord(schema)) return true;
  const names = isRecord(schema.properties) ? Object.keys(schema.properties) : [];
  const required = new Set<unknown>(Array.isArray(schema.required) ? schema.required : []);
  return names.every((name) => required.has(name)) && Object.values(schema).every(requiresAll);
}
