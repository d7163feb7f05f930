// Does anybody know what a call of this target costs?

import type { Finding } from '../verdict.ts';

export interface UnpricedTarget {
  readonly name: string;
  /** What was looked for in the catalog, and not found. */
  readonly why: string;
}

const denied = 'spec.unpriced is Deny, so only calls with an own Provider of the caller are sent there';

/** @param isDenied Targets without a price are not used. */
export function noPrice(targets: readonly UnpricedTarget[], isDenied: boolean): Finding | undefined {
  if (targets.length === 0) return undefined;
  const each = targets.map(({ name, why }) => `no price for target ${name}: ${why}`);
  return {
    reason: 'NoPrice',
    message:
      `${each.join('; ')}; ${isDenied ? denied : 'tokens are recorded, their cost stays unknown'}; ` +
      'set spec.pricing, or pricing at the target',
  };
}
