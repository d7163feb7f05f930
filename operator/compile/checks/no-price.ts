// Does anybody know what a call of this target costs?

import type { Finding } from '../verdict.ts';

export interface UnpricedTarget {
  readonly name: string;
  /** What was looked for in the catalog, and not found. */
  readonly why: string;
}

export function noPrice(targets: readonly UnpricedTarget[]): Finding | undefined {
  if (targets.length === 0) return undefined;
  const each = targets.map(({ name, why }) => `no price for target ${name}: ${why}`);
  return {
    reason: 'NoPrice',
    message:
      `${each.join('; ')}; tokens are recorded, their cost stays unknown; ` +
      'set spec.pricing, or pricing at the target',
  };
}
