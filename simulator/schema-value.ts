// Which JSON value is valid for this JSON Schema? The smallest simple one: required properties, fewest items.
//
// Understood: type (also a list of types), const, enum, properties, required, minProperties with properties, items,
// prefixItems, minItems, contains, uniqueItems over simple items, bounds and multipleOf of numbers, minLength,
// maxLength, pattern (simple ones) and the common formats of strings, anyOf, oneOf, allOf, if/then is ignored, $ref to
// #/$defs, #/definitions and any other local pointer, nullable. A schema that contradicts itself gets some value.

import { valueForPattern } from './pattern-value.ts';

type Schema = Record<string, unknown>;

/** A value valid for the schema; the same schema gives the same value. */
export function valueForSchema(schema: unknown): unknown {
  return build(schema, { root: schema, depth: 0, variant: 0 });
}

// `variant` asks for another value than the ones before, for arrays whose items must differ.
type Place = { root: unknown; depth: number; variant: number };

// Deeper than this only a schema that contains itself goes; from here on the branch that ends soonest is taken.
const depthMax = 24;

function build(schema: unknown, place: Place): unknown {
  if (!isSchema(schema) || place.depth > depthMax) return place.variant === 0 ? 'sim' : `sim${place.variant}`;
  const flat = flatten(schema, place);
  if ('const' in flat) return flat.const;
  if (Array.isArray(flat.enum) && flat.enum.length > 0) return fromEnum(flat, flat.enum, place);
  switch (typeOf(flat)) {
    case 'object':
      return buildObject(flat, place);
    case 'array':
      return buildArray(flat, place);
    case 'string':
      return buildString(flat, place.variant);
    case 'integer':
      return buildNumber(flat, 1, place.variant);
    case 'number':
      return buildNumber(flat, 0, place.variant);
    case 'boolean':
      return place.variant % 2 === 0;
    case 'null':
      return null;
  }
}

type TypeName = 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean' | 'null';

const typeNames: readonly TypeName[] = ['object', 'array', 'string', 'integer', 'number', 'boolean', 'null'];

// A list of types names null last, whatever its order: a value says more than none.
function typeOf(schema: Schema): TypeName {
  const listed: unknown[] = Array.isArray(schema.type) ? schema.type : [schema.type];
  const known = typeNames.find((name) => listed.includes(name));
  if (known !== undefined) return known;
  if ('properties' in schema || 'required' in schema || 'additionalProperties' in schema) return 'object';
  if ('items' in schema || 'prefixItems' in schema || 'minItems' in schema) return 'array';
  if ('minimum' in schema || 'maximum' in schema || 'multipleOf' in schema) return 'number';
  return 'string';
}

// An enum beside a type, as merged schemas have it: only the members of the type count.
function fromEnum(schema: Schema, members: unknown[], place: Place): unknown {
  const types: unknown[] = Array.isArray(schema.type) ? schema.type : [schema.type];
  const fitting = members.filter((member) => schema.type === undefined || types.includes(typeNameOf(member)));
  const usable = fitting.length > 0 ? fitting : members;
  return usable[place.variant % usable.length];
}

function typeNameOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value;
}

function buildObject(schema: Schema, place: Place): unknown {
  const properties = isSchema(schema.properties) ? schema.properties : {};
  const required = strings(schema.required);
  const value: Record<string, unknown> = {};
  const inner = { ...place, depth: place.depth + 1 };
  const names = [...required];
  const min = typeof schema.minProperties === 'number' ? schema.minProperties : 0;
  for (const name of Object.keys(properties))
    if (names.length < min && !names.includes(name)) names.push(name);
  for (let extra = 0; names.length < min; extra += 1) names.push(`extra${extra}`);
  for (const name of names) {
    // defineProperty: a property called __proto__ must become a member like any other.
    Object.defineProperty(value, name, {
      value: build(
        Object.hasOwn(properties, name) ? properties[name] : (schema.additionalProperties ?? true),
        inner,
      ),
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
  return value;
}

function buildArray(schema: Schema, place: Place): unknown[] {
  const prefix = Array.isArray(schema.prefixItems) ? schema.prefixItems : [];
  const min = typeof schema.minItems === 'number' ? schema.minItems : 0;
  const items: unknown[] = [];
  const inner = { ...place, depth: place.depth + 1 };
  if ('contains' in schema) items.push(build(schema.contains, inner));
  while (items.length < min) {
    const at = items.length;
    const variant = schema.uniqueItems === true ? at : place.variant;
    items.push(build(at < prefix.length ? prefix[at] : (schema.items ?? true), { ...inner, variant }));
  }
  return items;
}

function buildNumber(schema: Schema, step: number, variant: number): number {
  const unit = typeof schema.multipleOf === 'number' ? schema.multipleOf : step;
  const lowest = lowestOf(schema, unit === 0 ? 0.5 : unit);
  const highest = highestOf(schema, unit === 0 ? 0.5 : unit);
  let value = 1;
  if (lowest !== undefined && value < lowest) value = lowest;
  if (highest !== undefined && value > highest) value = highest;
  if (unit > 0) {
    value = Math.ceil(value / unit) * unit;
    if (highest !== undefined && value > highest) value = Math.floor(highest / unit) * unit;
    return value + variant * unit;
  }
  // Between two exclusive bounds there is always a middle.
  if (lowest !== undefined && highest !== undefined && lowest > highest) value = (lowest + highest) / 2;
  return variant === 0 ? value : value + variant / 1024;
}

function lowestOf(schema: Schema, unit: number): number | undefined {
  const bounds: number[] = [];
  if (typeof schema.minimum === 'number') bounds.push(schema.minimum);
  if (typeof schema.exclusiveMinimum === 'number') bounds.push(schema.exclusiveMinimum + unit);
  return bounds.length === 0 ? undefined : Math.max(...bounds);
}

function highestOf(schema: Schema, unit: number): number | undefined {
  const bounds: number[] = [];
  if (typeof schema.maximum === 'number') bounds.push(schema.maximum);
  if (typeof schema.exclusiveMaximum === 'number') bounds.push(schema.exclusiveMaximum - unit);
  return bounds.length === 0 ? undefined : Math.min(...bounds);
}

const formatValues: Record<string, string> = {
  'date-time': '2026-01-02T03:04:05Z',
  date: '2026-01-02',
  time: '03:04:05Z',
  duration: 'P1D',
  email: 'sim@example.com',
  hostname: 'sim.example.com',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  uri: 'https://example.com/sim',
  'uri-reference': '/sim',
  uuid: '00000000-0000-4000-8000-000000000001',
  'json-pointer': '/sim',
  regex: 'sim',
};

function buildString(schema: Schema, variant: number): string {
  const min = typeof schema.minLength === 'number' ? schema.minLength : 0;
  const max = typeof schema.maxLength === 'number' ? schema.maxLength : Number.POSITIVE_INFINITY;
  if (typeof schema.pattern === 'string') return valueForPattern(schema.pattern, min);
  const format = typeof schema.format === 'string' ? schema.format : '';
  if (Object.hasOwn(formatValues, format)) return formatValues[format] ?? '';
  const text = variant === 0 ? 'sim' : `sim${variant}`;
  // A short string keeps its end, where the variants differ.
  return text.length > max ? text.slice(text.length - max) : text.padEnd(min, '-');
}

// Resolves $ref, chooses a branch of anyOf and oneOf, and folds allOf, until only plain keywords are left.
function flatten(schema: Schema, place: Place): Schema {
  let flat = schema;
  for (let round = 0; round < depthMax; round += 1) {
    const { $ref: pointer, anyOf, oneOf, allOf, ...rest } = flat;
    if (typeof pointer === 'string')
      flat = merge(rest, resolve(pointer, place.root), { anyOf, oneOf, allOf });
    else if (Array.isArray(allOf)) {
      const parts: Schema[] = allOf.filter(isSchema);
      flat = parts.reduce((one, other) => merge(one, other), { ...rest, ...present({ anyOf, oneOf }) });
    } else if (Array.isArray(anyOf))
      flat = merge({ ...rest, ...present({ oneOf }) }, chooseBranch(anyOf, place));
    else if (Array.isArray(oneOf)) flat = merge(rest, chooseBranch(oneOf, place));
    else return flat;
  }
  return flat;
}

function merge(one: Schema, other: Schema, left: Schema = {}): Schema {
  const merged: Schema = { ...one, ...other, ...present(left) };
  const properties = [one.properties, other.properties].filter(isSchema);
  if (properties.length > 0) merged.properties = mergeProperties(properties);
  const required = [...strings(one.required), ...strings(other.required)];
  if (required.length > 0) merged.required = [...new Set(required)];
  for (const name of ['minimum', 'exclusiveMinimum', 'minLength', 'minItems', 'minProperties']) {
    keepStronger(merged, name, one, other, Math.max);
  }
  for (const name of ['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems', 'maxProperties']) {
    keepStronger(merged, name, one, other, Math.min);
  }
  if (Array.isArray(one.enum) && Array.isArray(other.enum)) {
    const otherEnum: unknown[] = other.enum;
    merged.enum = one.enum.filter((member) => otherEnum.includes(member));
  }
  if (Array.isArray(one.allOf) && Array.isArray(other.allOf)) merged.allOf = [...one.allOf, ...other.allOf];
  return merged;
}

function mergeProperties(all: Schema[]): Schema {
  const merged: Schema = {};
  for (const [name, schema] of all.flatMap((properties) => Object.entries(properties))) {
    const before = Object.hasOwn(merged, name) ? merged[name] : undefined;
    merged[name] = isSchema(before) && isSchema(schema) ? { allOf: [before, schema] } : schema;
  }
  return merged;
}

function keepStronger(
  merged: Schema,
  name: string,
  one: Schema,
  other: Schema,
  choose: (a: number, b: number) => number,
): void {
  const [a, b] = [one[name], other[name]];
  if (typeof a === 'number' && typeof b === 'number') merged[name] = choose(a, b);
}

// The first branch that is not null; deep inside a schema that contains itself, the first that needs no further step.
function chooseBranch(branches: unknown[], place: Place): Schema {
  const schemas = branches.filter(isSchema);
  const real = schemas.filter((branch) => branch.type !== 'null');
  const simple = schemas.find((branch) => !('$ref' in branch) && !('required' in branch));
  const chosen = place.depth > 3 ? (simple ?? real[0]) : real[0];
  return chosen ?? schemas[0] ?? {};
}

function resolve(pointer: string, root: unknown): Schema {
  if (!pointer.startsWith('#')) return {};
  let target: unknown = root;
  for (const step of pointer.slice(1).split('/').slice(1)) {
    const name = decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~');
    if (Array.isArray(target)) target = target[Number(name)];
    else target = isSchema(target) && Object.hasOwn(target, name) ? target[name] : undefined;
  }
  return isSchema(target) ? target : {};
}

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function strings(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}

function present(schema: Schema): Schema {
  return Object.fromEntries(Object.entries(schema).filter(([, value]) => value !== undefined));
}
