// Does anybody know what a call of this target costs?

import type { Finding } from '../verdict.ts';

export function noPrice(unpricedTargets: readonly string[]): Finding | undefined {
  if (unpricedTargets.length === 0) return undefined;
  return {
    reason: 'NoPrice',
    message:
      `no price for target ${unpricedTargets.join(', ')}: tokens are recorded, their cost stays unknown; ` +
      'set spec.pricing, or pricing at the target',
  };
}
