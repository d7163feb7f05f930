// Can any target be used?

import type { Finding } from '../verdict.ts';

/** @param why one sentence for each target that is out, in the order of the targets. */
export function noUsableTarget(usable: number, why: readonly string[]): Finding | undefined {
  if (usable > 0) return undefined;
  return { reason: 'NoUsableTarget', message: `no target can be used: ${why.join('; ')}` };
}
