// How does one rule stand in the CRD and in our own check at the same time?
//
// The API server evaluates the CEL text; local mode has no API server and evaluates `check`. Both are
// written in one place, side by side, so that neither can be changed without the other being seen.

import type { z } from 'zod';

/** One rule about a value, in words, in CEL and in TypeScript. */
export interface Rule<T> {
  /** CEL, `self` is the value. Needs `has()` guards, and bounds on everything it walks over. */
  readonly cel: string;
  /** What the user reads when the rule is broken; says what to do. */
  readonly message: string;
  /**
   * The same rule at run time; true where it holds. `'needs-old-object'` marks a transition rule: it
   * compares with the stored object, which only the API server has.
   */
  readonly check: ((value: T) => boolean) | 'needs-old-object';
}

/** What the CRD holds for a rule. */
export interface CelRule {
  readonly rule: string;
  readonly message: string;
  /** The field that the rule is about, where it is not `self`. */
  readonly fieldPath?: string;
}

/** Puts rules on a schema: into its checks, and into its metadata for the CRD. */
export function withRules<S extends z.ZodType>(schema: S, rules: readonly Rule<z.output<S>>[]): S {
  const before = rulesOf(schema);
  const validations = [...before, ...rules.map(({ cel, message }): CelRule => ({ rule: cel, message }))];
  const checked = schema.superRefine((value, context) => {
    // zod goes on after a string that matches no pattern; a rule may count on what the schema promises.
    if (context.issues.length > 0) return;
    for (const rule of rules) {
      if (rule.check !== 'needs-old-object' && !rule.check(value)) {
        context.addIssue({ code: 'custom', message: rule.message });
      }
    }
  });
  return checked.meta({ ...schema.meta(), 'x-kubernetes-validations': validations });
}

/** The rules that an earlier `withRules` added. */
function rulesOf(schema: z.ZodType): readonly CelRule[] {
  const rules = schema.meta()?.['x-kubernetes-validations'];
  return Array.isArray(rules) ? rules : [];
}

/** The rule of a field that may never change once it is stored. The field must be required or defaulted. */
export function immutable<T>(what: string): Rule<T> {
  return {
    cel: 'self == oldSelf',
    message: `${what} cannot be changed; create a new object instead`,
    check: 'needs-old-object',
  };
}

/** CEL for a duration in an optional field of `self`, with what holds where it is left out. */
export function celDuration(field: string, absent: string): string {
  return `duration(has(self.${field}) ? self.${field} : '${absent}')`;
}
