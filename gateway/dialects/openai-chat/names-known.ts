// Which of two names of one member does an upstream of chat completions know?

import type { UpstreamTarget } from '../dialect.ts';

/** What the target's parameters use is meant; else what its provider knows: many know the older name only. */
export function nameKnown(
  { parameters, chatNames }: Pick<UpstreamTarget, 'parameters' | 'chatNames'>,
  newer: string,
  older: string,
): string {
  if (newer in parameters) return newer;
  return chatNames === 'current' && !(older in parameters) ? newer : older;
}
