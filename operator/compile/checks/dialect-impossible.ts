// Is a dialect promised that no target can serve?

import { describePairings, listed } from '../describe-pairings.ts';
import { inOrder, type Pairing } from '../dialects.ts';
import type { Finding } from '../verdict.ts';

/** @param impossible for each requested dialect that cannot be served: the obstacle at each target. */
export function dialectImpossible(impossible: readonly Pairing[]): Finding | undefined {
  if (impossible.length === 0) return undefined;
  const apis = inOrder(impossible.map(({ api }) => api));
  const unmet = [...new Set(impossible.flatMap((pairing) => pairing.unmet))];
  return {
    reason: 'DialectImpossible',
    message:
      `no target can serve ${listed(apis)} with all of spec.capabilities: ${describePairings(impossible)}; ` +
      `remove ${listed(apis)} from spec.apis or ${listed(unmet)} from spec.capabilities, ` +
      'or add a target that speaks another dialect',
  };
}
