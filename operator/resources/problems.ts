// What is wrong with an object, in the user's words? zod's issues as field paths and sentences.

import type { z } from 'zod';

/** One fault: the field as `spec.targets[1].providerRef.name`, and what to do about it. */
export interface Problem {
  readonly path: string;
  readonly message: string;
}

type Issue = z.core.$ZodIssue;

/**
 * Turns zod issues about `value` into problems. The schema is needed to guess what a field was meant to be. Unknown fields come first,
 * and a required field that one of them was meant to be is not reported as missing as well.
 */
export function toProblems(issues: readonly Issue[], schema: z.ZodType, value: unknown): Problem[] {
  const [unknown = [], others = []] = [true, false].map((isUnknown) =>
    issues.filter(({ code }) => (code === 'unrecognized_keys') === isUnknown),
  );
  const meant = new Set(unknown.flatMap((issue) => meantBy(issue, schema)));
  const isMeant = ({ path }: Issue): boolean =>
    valueAt(value, path) === undefined && meant.has(fieldPath(path));
  const rest = others.filter((issue) => !isMeant(issue));
  return [...unknown, ...rest].flatMap((issue) => problemsOf(issue, schema, value));
}

/** The fields that unknown ones are most likely misspellings of. */
function meantBy(issue: Issue, schema: z.ZodType): string[] {
  if (issue.code !== 'unrecognized_keys') return [];
  const known = knownKeys(schema, issue.path);
  return issue.keys.flatMap((key) => {
    const near = nearest(key, known);
    return near === undefined ? [] : [fieldPath([...issue.path, near])];
  });
}

/** `['spec', 'targets', 1, 'name']` as `spec.targets[1].name`. */
export function fieldPath(path: readonly PropertyKey[]): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === 'number') return `${text}[${part}]`;
    return text === '' ? String(part) : `${text}.${String(part)}`;
  }, '');
}

function problemsOf(issue: Issue, schema: z.ZodType, value: unknown): Problem[] {
  if (issue.code === 'unrecognized_keys') {
    const known = knownKeys(schema, issue.path);
    return issue.keys.map((key) => ({
      path: fieldPath([...issue.path, key]),
      message: unknownField(key, known),
    }));
  }
  return [{ path: fieldPath(issue.path), message: describe(issue, valueAt(value, issue.path)) }];
}

/** What to say of a field that is not known, beside those that are. */
export function unknownField(key: string, known: readonly string[]): string {
  const near = nearest(key, known);
  if (near !== undefined) return `unknown field; did you mean ${near}?`;
  return `unknown field; known here: ${known.join(', ')}`;
}

function describe(issue: Issue, actual: unknown): string {
  switch (issue.code) {
    case 'invalid_type':
      // A schema may know more about what to write than its type says.
      if (actual === undefined && issue.message.startsWith('is required')) return issue.message;
      if (actual === undefined) return `is required; it must be ${article(issue.expected)}`;
      return `must be ${article(issue.expected)}, not ${typeName(actual)}${quotesFor(issue.expected, actual)}`;
    case 'invalid_value': {
      const values = issue.values.map(String).join(', ');
      const choice = issue.values.length === 1 ? `must be ${values}` : `must be one of ${values}`;
      return actual === undefined
        ? `is required; it ${choice}`
        : `${choice}; it is ${JSON.stringify(actual)}`;
    }
    case 'too_big':
      return bound(issue.origin, 'most', issue.maximum);
    case 'too_small':
      return bound(issue.origin, 'least', issue.minimum);
    case 'invalid_key':
      return `is not allowed as a key: ${issue.issues.map((inner) => inner.message).join('; ')}`;
    default:
      return issue.message;
  }
}

/** YAML reads 0.001 and true as no strings. */
function quotesFor(expected: string, actual: unknown): string {
  const isPlain = typeof actual === 'number' || typeof actual === 'boolean';
  return expected === 'string' && isPlain ? `; write it in quotes: "${actual}"` : '';
}

function bound(origin: string, side: 'most' | 'least', limit: number | bigint): string {
  if (origin === 'string') return `must have at ${side} ${limit} characters`;
  if (origin === 'array') return `must have at ${side} ${limit} entries`;
  return `must be at ${side} ${limit}`;
}

const NAMES: Readonly<Record<string, string>> = {
  array: 'a list',
  boolean: 'true or false',
  int: 'a whole number',
  number: 'a number',
  object: 'an object',
  record: 'an object',
  string: 'a string',
};

function article(type: string): string {
  return NAMES[type] ?? type;
}

function typeName(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'boolean' ? String(value) : article(typeof value);
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (inner, key) =>
      typeof inner === 'object' && inner !== null ? (inner as Record<PropertyKey, unknown>)[key] : undefined,
    value,
  );
}

/** Field names that the schema knows at a path. */
function knownKeys(schema: z.ZodType, path: readonly PropertyKey[]): string[] {
  let at: z.core.$ZodType | undefined = schema;
  for (const key of path) {
    const inner: z.core.$ZodType | undefined = at === undefined ? undefined : unwrap(at);
    at = inner === undefined ? undefined : childOf(inner, key);
  }
  const shape = at === undefined ? undefined : shapeOf(unwrap(at));
  return Object.keys(shape ?? {});
}

function childOf(schema: z.core.$ZodType, key: PropertyKey): z.core.$ZodType | undefined {
  const { def } = schema._zod;
  if (def.type === 'array') return (def as z.core.$ZodArrayDef).element;
  return shapeOf(schema)?.[String(key)];
}

function shapeOf(schema: z.core.$ZodType): Readonly<Record<string, z.core.$ZodType>> | undefined {
  const { def } = schema._zod;
  return def.type === 'object' ? (def as z.core.$ZodObjectDef).shape : undefined;
}

/** The schema inside `.optional()` and `.default()`. */
function unwrap(schema: z.core.$ZodType): z.core.$ZodType {
  const { def } = schema._zod;
  if (def.type !== 'optional' && def.type !== 'default') return schema;
  return unwrap((def as z.core.$ZodOptionalDef).innerType);
}

/** The known name that a wrong one is most likely meant to be, if one is near. */
function nearest(word: string, known: readonly string[]): string | undefined {
  // Two letters swapped are two edits; in very short words that would make anything near.
  const allowed = word.length < 4 ? 1 : Math.max(2, Math.floor(word.length / 3));
  let best: { readonly name: string; readonly distance: number } | undefined;
  for (const name of known) {
    const distance = editDistance(word.toLowerCase(), name.toLowerCase());
    if (distance <= allowed && (best === undefined || distance < best.distance)) best = { name, distance };
  }
  return best?.name;
}

/** Levenshtein distance, one row at a time. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
