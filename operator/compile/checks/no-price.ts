// Has this target a price?

import type { Finding } from '../verdict.ts';

interface UnpricedTarget {
  readonly name: string;
  /** The look-up in the catalog that failed. */
  readonly why: string;
  /** The route may state what it costs. */
  readonly mayPrice: boolean;
}

interface PricingRules {
  readonly namespace: string;
  /** spec.unpriced: targets without a price are not used. */
  readonly isDenied: boolean;
  /** The platform has set the namespace a budget that blocks. */
  readonly hasBudget: boolean;
}

const denied = 'spec.unpriced is Deny, so only calls with a Provider of the caller are sent there';
const metered =
  'tokens are recorded without a cost, and keys with a blocking budget are refused, except at a Provider of their own namespace';

export function noPrice(targets: readonly UnpricedTarget[], rules: PricingRules): Finding | undefined {
  if (targets.length === 0) return undefined;
  const each = targets.map(({ name, why }) => `no price for target ${name}: ${why}`);
  const own = targets.filter(({ mayPrice }) => mayPrice);
  const foreign = targets.filter(({ mayPrice }) => !mayPrice).map(({ name }) => name);
  return {
    reason: 'NoPrice',
    message: [
      ...each,
      rules.isDenied ? denied : whatBecomes(own, foreign, rules),
      ...(own.length === 0
        ? []
        : ['set spec.pricing, or pricing at the target, with inputPerMillion and outputPerMillion']),
      ...(foreign.length === 0
        ? []
        : [
            `${notCounting(foreign, rules.namespace)}: use a model of the platform that has a price, or your own Provider`,
          ]),
    ].join('; '),
  };
}

/** A budget in dollars cannot limit a target without a price. */
function whatBecomes(
  own: readonly UnpricedTarget[],
  foreign: readonly string[],
  { namespace, hasBudget }: PricingRules,
): string {
  if (!hasBudget || foreign.length === 0) return metered;
  const unused = `the platform has set a budget for namespace ${namespace}, so nothing is sent to ${listed(foreign)}`;
  return own.length === 0 ? unused : `${unused}; of the others ${metered}`;
}

/** @param targets their names. */
export function notCounting(targets: readonly string[], namespace: string): string {
  return `pricing of this route does not count for ${listed(targets)}, whose Provider is not of namespace ${namespace}`;
}

function listed(targets: readonly string[]): string {
  return targets.map((name) => `target ${name}`).join(', ');
}
