// Under which names are objects kept, given their verdicts? Put together once for each verdict: those on ApiKeys stay the
// same values from publish to publish, and each publish asks for all of them.

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
