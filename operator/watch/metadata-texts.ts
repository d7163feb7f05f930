// Are two sets of labels or annotations the same, and what of them is worth keeping?

import { isRecord } from '../../core/kube/object.ts';

/**
 * `kubectl apply` keeps a whole copy of the object in it: twice the memory, and of a Secret its values, in an
 * object that was read for its labels alone.
 */
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

type Texts = Readonly<Record<string, string>>;

export function withoutLastApplied(annotations: Texts): Texts {
  if (!Object.hasOwn(annotations, LAST_APPLIED)) return annotations;
  const { [LAST_APPLIED]: _, ...rest } = annotations;
  return rest;
}

/** None and an empty set are the same. */
export function sameTexts(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  const before = isRecord(a) ? a : {};
  const after = isRecord(b) ? b : {};
  const names = Object.keys(before);
  return (
    names.length === Object.keys(after).length &&
    names.every((name) => Object.hasOwn(after, name) && before[name] === after[name])
  );
}
