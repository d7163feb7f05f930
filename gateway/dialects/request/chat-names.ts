// Which of two names of one member does an upstream of chat completions know?

import type { UpstreamTarget } from '../dialect.ts';

type Namer = Pick<UpstreamTarget, 'parameters' | 'chatNames'>;

/** The name that the target's parameters use; else the name that its provider knows: many know only the older one. */
export function nameKnown({ parameters, chatNames }: Namer, newer: string, older: string): string {
  if (newer in parameters) return newer;
  return chatNames === 'current' && !(older in parameters) ? newer : older;
}

/** What bounds an answer, as chat completions call it today, and as all know it. */
export const boundNewer = 'max_completion_tokens';
export const boundOlder = 'max_tokens';

/** Whether type or parameters say which name of the bound it knows. Otherwise the upstream may take the newer one, or ignore it silently. */
export function saysBoundName({ parameters, chatNames }: Namer): boolean {
  return chatNames !== undefined || boundNewer in parameters || boundOlder in parameters;
}
