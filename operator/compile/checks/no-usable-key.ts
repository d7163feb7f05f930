// Is any key left that is neither disabled nor drained?

import type { Finding } from '../verdict.ts';

export function noUsableKey(usable: number): Finding | undefined {
  if (usable > 0) return undefined;
  return {
    reason: 'NoUsableKey',
    message: 'every entry of spec.auth.keys is disabled or has weight 0; enable one, or raise its weight',
  };
}
