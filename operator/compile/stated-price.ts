// The price of a target that a ModelRoute may set. A tenant may not set prices for Providers of the platform: that would bypass its
// budget.

import type { ModelRoute, TargetSpec } from '../resources/model-route.ts';
import type { Pricing } from '../resources/pricing.ts';
import type { PlatformSettings } from '../watch/snapshot.ts';

export interface StatedPrice {
  readonly pricing: Pricing;
  readonly source: 'target' | 'route';
}

/** The nearest stated price: the target's, else the route's. Undefined without one that counts. */
export function statedPrice(
  route: ModelRoute,
  target: TargetSpec,
  platform: Pick<PlatformSettings, 'platformNamespaces'>,
): StatedPrice | undefined {
  if (!mayPrice(route, target, platform)) return undefined; // guard: price-owner
  if (target.pricing !== undefined) return { pricing: target.pricing, source: 'target' };
  const { pricing } = route.spec;
  return pricing === undefined ? undefined : { pricing, source: 'route' };
}

/** What its own Provider costs a tenant is between the two; of those of others the platform alone may say it. */
export function mayPrice(
  { metadata: { namespace } }: ModelRoute,
  { providerRef }: TargetSpec,
  { platformNamespaces }: Pick<PlatformSettings, 'platformNamespaces'>,
): boolean {
  return (providerRef.namespace ?? namespace) === namespace || platformNamespaces.includes(namespace);
}
