// By what word does the status of a Provider tell what a gateway pod says of it?

import type { UpstreamHealth } from '../../core/contract/exchange.ts';
import type { ProviderStatus } from './provider.ts';

type Trouble = NonNullable<NonNullable<ProviderStatus['health']>['troubles']>[number];

/** Undefined: it is no trouble. */
export const TROUBLE_REASONS: Readonly<Record<UpstreamHealth['state'], Trouble['reason'] | undefined>> = {
  working: undefined,
  open: 'CircuitOpen',
  'rate-limited': 'RateLimited',
  'out-of-money': 'Exhausted',
  rejected: 'Invalid',
};
