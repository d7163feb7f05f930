// How do lists and maps merge, and how large may they be? The shapes that server-side apply understands.

import { z } from 'zod';
import { type Rule, withRules } from './rule.ts';

type Shape = Readonly<Record<string, z.ZodType>>;

/** A list with one string field as its key; the API server refuses repeated keys. */
export function listMap<T extends z.ZodType>(item: T, key: string, max: number, min = 0) {
  const list = z
    .array(item)
    .max(max)
    .superRefine((items, context) => {
      const seen = new Set<unknown>();
      for (const [index, value] of items.entries()) {
        const id = (value as Readonly<Record<string, unknown>>)[key];
        if (seen.has(id)) {
          const message = `"${String(id)}" appears twice in the list; give each entry its own ${key}`;
          context.addIssue({ code: 'custom', path: [index, key], message });
        }
        seen.add(id);
      }
    });
  return (min > 0 ? list.min(min) : list).meta({
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': [key],
  });
}

/** A list without order or repetition. */
export function listSet<T extends z.ZodType<string>>(item: T, max: number, min = 0) {
  const list = z
    .array(item)
    .max(max)
    .superRefine((items, context) => {
      for (const [index, value] of items.entries()) {
        if (items.indexOf(value) < index) {
          context.addIssue({
            code: 'custom',
            path: [index],
            message: `"${value}" appears twice in the list`,
          });
        }
      }
    });
  return (min > 0 ? list.min(min) : list).meta({ 'x-kubernetes-list-type': 'set' });
}

/** A list that is replaced as a whole. */
export function atomicList<T extends z.ZodType>(item: T, max: number) {
  return z.array(item).max(max).meta({ 'x-kubernetes-list-type': 'atomic' });
}

/** A small map of strings. Kubernetes drops key patterns from schemas, so the key length is a rule. */
export function stringMap(bounds: { readonly entriesMax: number; readonly valueMax: number }) {
  const map = z
    .record(z.string(), z.string().max(bounds.valueMax))
    .superRefine((value, context) => {
      const entries = Object.keys(value).length;
      if (entries > bounds.entriesMax) {
        const message = `has ${entries} entries; at most ${bounds.entriesMax} are allowed`;
        context.addIssue({ code: 'custom', message });
      }
    })
    .meta({ maxProperties: bounds.entriesMax });
  return withRules(map, [
    {
      cel: 'self.all(k, size(k) >= 1 && size(k) <= 253)',
      message: 'keys must have 1 to 253 characters',
      check: (value) => Object.keys(value).every((key) => key !== '' && [...key].length <= 253),
    },
  ]);
}

const NAME_PART = '[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?';
const QUALIFIED_NAME = `^([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?${NAME_PART}$`;
const LABEL_VALUE = `^(${NAME_PART})?$`;

const qualifiedKeys: Rule<Readonly<Record<string, string>>> = {
  cel: `self.all(k, k.matches('${QUALIFIED_NAME}'))`,
  message:
    'keys must be such as app or example.dev/app: letters, digits, ".", "-" and "_", at most 63, after an optional ' +
    'DNS name and "/"',
  check: (value) => Object.keys(value).every((key) => new RegExp(QUALIFIED_NAME).test(key)),
};

/** Penstock's own labels and annotations opt a Secret in for Providers. Only people who may write Secrets decide that. */
const notOurKeys: Rule<Readonly<Record<string, string>>> = {
  cel: "self.all(k, !k.startsWith('penstock.dev/'))",
  message: 'keys that begin with "penstock.dev/" are reserved for the operator and for writers of Secrets',
  check: (value) => Object.keys(value).every((key) => !key.startsWith('penstock.dev/')),
};

/** Labels for another object, checked here: otherwise the fault appears only when that object is refused. */
export function labelMap(bounds: { readonly entriesMax: number }) {
  return withRules(stringMap({ ...bounds, valueMax: 63 }), [
    qualifiedKeys,
    notOurKeys,
    {
      cel: `self.all(k, self[k].matches('${LABEL_VALUE}'))`,
      message:
        'values of labels must be letters, digits, ".", "-" and "_", with a letter or digit at both ends',
      check: (value) => Object.values(value).every((text) => new RegExp(LABEL_VALUE).test(text)),
    },
  ]);
}

/** Annotations to be put on another object. */
export function annotationMap(bounds: { readonly entriesMax: number; readonly valueMax: number }) {
  return withRules(stringMap(bounds), [qualifiedKeys, notOurKeys]);
}

/** An object that gets every default when it is left out. */
export function defaulted<S extends Shape>(schema: z.ZodObject<S, z.core.$strict>) {
  // `default: {}` would be refused by the API server on an object with rules: it checks the rule
  // before it applies the defaults inside.
  return schema.default(() => schema.parse({}) as never);
}

/**
 * The same, but the object is stored as it was written: the operator fills the defaults in when it compiles, so that a
 * better default reaches the objects that there are.
 */
export function defaultedLater<S extends Shape>(schema: z.ZodObject<S, z.core.$strict>) {
  return defaulted(schema).meta({ 'x-penstock-unstored': true });
}

/** A reference is one value: half of an old one and half of a new one is no reference. */
export function refObject<S extends Shape>(shape: S) {
  return z.strictObject(shape).meta({ 'x-kubernetes-map-type': 'atomic' });
}
