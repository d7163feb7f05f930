// Names of objects, computed once per verdict: each publish needs the names of all ApiKeys, and their verdicts rarely change.

import { placeOf } from './index-by-place.ts';
import type { Verdict } from './verdict.ts';

interface VerdictNames {
  /** `Kind/namespace/name`. */
  readonly key: string;
  /** `namespace/name`. */
  readonly id: string;
}

export type NamesOf = (verdict: Verdict) => VerdictNames;

export function keyOf({ kind, namespace, name }: Pick<Verdict, 'kind' | 'namespace' | 'name'>): string {
  return `${kind}/${namespace}/${name}`;
}

export function createVerdictNames(): NamesOf {
  const known = new WeakMap<Verdict, VerdictNames>();
  return (verdict) => {
    const names = known.get(verdict);
    if (names !== undefined) return names;
    const made = { key: keyOf(verdict), id: placeOf(verdict) };
    known.set(verdict, made);
    return made;
  };
}
