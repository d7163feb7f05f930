// Does a schema accept a value that was JSON, without a copy of it? Made out of the schema itself, so that the two cannot differ; zod has the
// last word about all that is not accepted here.

import type { $ZodCheck, $ZodChecks, $ZodType, $ZodTypes } from 'zod/v4/core';

type Check = (value: unknown) => boolean;

/**
 * @returns True only where the schema accepts the value and would give it back as it is, but for members that it does not know. False: it
 * may accept it all the same.
 */
export function quickCheck(schema: $ZodType): Check {
  const { def } = (schema as $ZodTypes)._zod;
  const meets = (checks: readonly $ZodCheck[] = []): Check => allOf(checks.map(ruleOf));
  switch (def.type) {
    case 'string':
    case 'number': {
      const { type, checks = [] } = def;
      // Formats are schemas and checks at once.
      const rules = meets('check' in def ? [schema as unknown as $ZodCheck, ...checks] : checks);
      return (value) => typeof value === type && rules(value);
    }
    case 'boolean':
      return (value) => typeof value === 'boolean';
    case 'enum': {
      const values = new Set<unknown>(Object.values(def.entries));
      return (value) => values.has(value);
    }
    case 'literal': {
      const values = new Set<unknown>(def.values);
      return (value) => values.has(value);
    }
    case 'optional': {
      const inner = quickCheck(def.innerType);
      return (value) => value === undefined || inner(value);
    }
    case 'nullable': {
      const inner = quickCheck(def.innerType);
      return (value) => value === null || inner(value);
    }
    case 'array': {
      const [element, rules] = [quickCheck(def.element), meets(def.checks)];
      return (value) => Array.isArray(value) && rules(value) && value.every(element);
    }
    case 'object': {
      const members = Object.entries(def.shape).map(([name, member]) => ({
        name,
        check: quickCheck(member),
      }));
      return (value) => isObject(value) && members.every(({ name, check }) => check(value[name]));
    }
    case 'record': {
      const [key, member] = [quickCheck(def.keyType), quickCheck(def.valueType)];
      return (value) =>
        isObject(value) && Object.keys(value).every((name) => key(name) && member(value[name]));
    }
    default:
      return never;
  }
}

/** What a schema asks for beside its type. */
function ruleOf(check: $ZodCheck): Check {
  const { def } = (check as $ZodChecks)._zod;
  switch (def.check) {
    case 'min_length':
      return (value) => (value as string).length >= def.minimum;
    case 'max_length':
      return (value) => (value as string).length <= def.maximum;
    case 'string_format': {
      const { format, pattern } = def;
      return format === 'datetime' && pattern !== undefined
        ? (value) => pattern.test(value as string)
        : never;
    }
    case 'number_format':
      return def.format === 'safeint' ? Number.isSafeInteger : never;
    case 'greater_than':
      return (value) =>
        def.inclusive ? Number(value) >= Number(def.value) : Number(value) > Number(def.value);
    case 'less_than':
      return (value) =>
        def.inclusive ? Number(value) <= Number(def.value) : Number(value) < Number(def.value);
    default:
      return never;
  }
}

const never: Check = () => false;

function allOf(rules: readonly Check[]): Check {
  const [first, second, ...others] = rules;
  if (first === undefined) return () => true;
  if (second === undefined) return first;
  return (value) => first(value) && second(value) && others.every((rule) => rule(value));
}

/** Of JSON; one with a member that zod leaves out is for zod to read. */
function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && !Object.hasOwn(value, '__proto__')
  );
}
