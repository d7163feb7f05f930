// Under which names are objects kept, given their verdicts? Put together once for each verdict: those on ApiKeys stay the
// same values from publish to publish, and each publish asks for all of them.

import type { Verdict } from '../compile/verdict.ts';

export interface VerdictNames {
  /** `Kind/namespace/name`. */
  readonly key: string;
  /** `namespace/name`. */
  readonly id: string;
}

export function createVerdictNames(): (verdict: Verdict) => VerdictNames {
  const known = new WeakMap<Verdict, VerdictNames>();
  return (verdict) => {
    const names = known.get(verdict);
    if (names !== undefined) return names;
    const id = `${verdict.namespace}/${verdict.name}`;
    const made = { key: `${verdict.kind}/${id}`, id };
    known.set(verdict, made);
    return made;
  };
}
