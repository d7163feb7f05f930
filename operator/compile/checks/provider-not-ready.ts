// Can the Provider be used?

import type { Finding } from '../verdict.ts';
import { providerName, type TargetUse } from './target-use.ts';

/** The remedy on a cluster. Local mode replaces it, because there are no conditions to look at. */
export const READ_CONDITIONS = 'its conditions say what to do';

/** @param why the Provider's own reason; reported only to its own namespace. */
export function providerNotReady(use: TargetUse, isUsable: boolean, why: string): Finding | undefined {
  if (isUsable) return undefined;
  const isOwn = use.provider.namespace === use.namespace;
  const wayOut = isOwn ? READ_CONDITIONS : 'ask its owner';
  return {
    reason: 'ProviderNotReady',
    message: `target ${use.target} names Provider ${providerName(use)}, which cannot be used${isOwn ? ` (${why})` : ''}; ${wayOut}`,
  };
}
