// From which namespaces may an object be used, as a form has it? Pure.

import type { FieldProblems } from '../parts/refused-fields.ts';
import type { AllowedNamespaces } from '../words/kube.ts';
import { namespacePattern } from '../words/names.ts';

export interface CallersForm {
  readonly callers: NonNullable<AllowedNamespaces['from']>;
  readonly callerNames: string;
}

export const emptyCallers: CallersForm = { callers: 'Same', callerNames: '' };

export function callersProblem({ callers, callerNames }: CallersForm): FieldProblems {
  const odd =
    callers === 'Selector' ? wordsIn(callerNames).find((name) => !namespacePattern.test(name)) : undefined;
  return odd === undefined ? {} : { 'allowedNamespaces.names': `“${odd}” is not a namespace name.` };
}

/** Undefined: the default of the kinds. */
export function callersIn({ callers, callerNames }: CallersForm): AllowedNamespaces | undefined {
  const names = wordsIn(callerNames);
  if (callers === 'Same') return undefined;
  return { from: callers, ...(callers === 'Selector' && names.length > 0 ? { names } : {}) };
}

/** Labels that pick namespaces are not shown; they stay while namespaces are picked. */
export function callersPatch({ callers, callerNames }: CallersForm): Readonly<Record<string, unknown>> {
  const names = wordsIn(callerNames);
  return callers === 'Selector'
    ? { from: callers, names: names.length === 0 ? null : names }
    : { from: callers, names: null, selector: null };
}

export function wordsIn(text: string): string[] {
  return [...new Set(text.split(/[\s,]+/).filter((word) => word !== ''))];
}
