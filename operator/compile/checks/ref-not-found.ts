// Is the Provider there, in the namespace of the route?

import type { Finding } from '../verdict.ts';
import type { TargetUse } from './target-use.ts';

export function refNotFound(use: TargetUse, isThere: boolean): Finding | undefined {
  if (isThere || use.provider.namespace !== use.namespace) return undefined;
  return {
    reason: 'RefNotFound',
    message: `target ${use.target} names Provider ${use.provider.name}, which does not exist in namespace ${use.namespace}; create it, or correct the name`,
  };
}
