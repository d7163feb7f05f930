// Can the Provider be used at all?

import type { Finding } from '../verdict.ts';
import { providerName, type TargetUse } from './target-use.ts';

/** @param why the reason of the Provider itself; told at home only, a foreign owner keeps it. */
export function providerNotReady(use: TargetUse, isUsable: boolean, why: string): Finding | undefined {
  if (isUsable) return undefined;
  const isOwn = use.provider.namespace === use.namespace;
  const wayOut = isOwn ? 'its conditions say what to do' : 'ask its owner';
  return {
    reason: 'ProviderNotReady',
    message: `target ${use.target} names Provider ${providerName(use)}, which cannot be used${isOwn ? ` (${why})` : ''}; ${wayOut}`,
  };
}
