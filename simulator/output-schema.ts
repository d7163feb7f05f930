// Does Anthropic take this schema for structured output? (Anthropic API documentation, "Structured outputs", JSON Schema
// limitations; the wording is that of live answers of 2026-09.)

import { BadRequest, isBag, type Path } from './checks.ts';

type Schema = Record<string, unknown>;

const place: Path = ['output_config', 'format', 'schema'];

/** Throws BadRequest. */
export function checkOutputSchema(root: Schema): void {
  checkNode(root);
  for (const name of definitionsOf(root).keys()) checkReach(root, name, [name]);
}

const refused: ReadonlySet<string> = new Set(
  `oneOf not if then else minimum maximum exclusiveMinimum exclusiveMaximum multipleOf maxItems uniqueItems contains
   minContains maxContains prefixItems minProperties maxProperties propertyNames patternProperties dependentRequired
   dependentSchemas unevaluatedProperties`.split(/\s+/),
);

const formats: ReadonlySet<unknown> = new Set(
  'date-time time date duration email hostname uri ipv4 ipv6 uuid'.split(' '),
);

function checkNode(schema: unknown): void {
  if (!isBag(schema)) return;
  const word = Object.keys(schema).find((name) => refused.has(name));
  if (word !== undefined) throw wrong(`property '${word}' is not supported`);
  if (schema.minItems !== undefined && schema.minItems !== 0 && schema.minItems !== 1) {
    throw wrong("'minItems' values other than 0 or 1 are not supported");
  }
  if (schema.format !== undefined && !formats.has(schema.format)) {
    throw wrong(`string format '${String(schema.format)}' is not supported`);
  }
  const isObject = [schema.type].flat().includes('object');
  if (isObject && schema.additionalProperties !== false) {
    throw wrong("For 'object' type, 'additionalProperties' must be explicitly set to false");
  }
  if (Array.isArray(schema.allOf) && schema.allOf.some((part) => isBag(part) && '$ref' in part)) {
    throw wrong("'allOf' with '$ref' is not supported");
  }
  if (typeof schema.$ref === 'string') checkPointer(schema.$ref);
  for (const inner of innerSchemas(schema)) checkNode(inner);
}

function checkPointer(pointer: string): void {
  if (!pointer.startsWith('#')) throw wrong('external $ref is not supported');
  if (pointer === '#') throw circular(['#', '#']);
}

function innerSchemas(schema: Schema): unknown[] {
  const byName = ['properties', '$defs', 'definitions'].flatMap((name) => valuesOf(schema[name]));
  const listed = ['anyOf', 'allOf'].flatMap((name) => (Array.isArray(schema[name]) ? schema[name] : []));
  return [...byName, ...listed, schema.items];
}

function valuesOf(value: unknown): unknown[] {
  return isBag(value) ? Object.values(value) : [];
}

// By their pointers.
function definitionsOf(root: Schema): Map<string, unknown> {
  const found = ['$defs', 'definitions'].flatMap((table) =>
    Object.entries(isBag(root[table]) ? root[table] : {}).map(([name, schema]) => [
      `#/${table}/${name}`,
      schema,
    ]),
  );
  return new Map(found.map(([pointer, schema]) => [String(pointer), schema]));
}

function checkReach(root: Schema, pointer: string, way: string[]): void {
  for (const next of pointersIn(definitionsOf(root).get(pointer))) {
    if (way.includes(next)) throw circular([...way, next]);
    checkReach(root, next, [...way, next]);
  }
}

function pointersIn(schema: unknown): string[] {
  if (!isBag(schema)) return [];
  const own = typeof schema.$ref === 'string' ? [schema.$ref] : [];
  return [...own, ...innerSchemas(schema).flatMap(pointersIn)];
}

function circular(way: string[]): BadRequest {
  const names = way.map((pointer) => pointer.split('/').at(-1)).join(' -> ');
  return wrong(
    `Circular reference detected in schema definitions: ${names}. Recursive schemas are not supported`,
  );
}

function wrong(fact: string): BadRequest {
  return new BadRequest(place, fact);
}
