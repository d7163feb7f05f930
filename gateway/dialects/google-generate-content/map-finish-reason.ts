// Why did an answer end, in Gemini's words?

import type { FinishReason } from '../conversation.ts';

/** Ended by a filter. */
const filters: ReadonlySet<string> = new Set([
  ...[
    'SAFETY',
    'RECITATION',
    'BLOCKLIST',
    'PROHIBITED_CONTENT',
    'SPII',
    'LANGUAGE',
    'MODEL_ARMOR',
    'ESCALATION',
  ],
  ...['IMAGE_SAFETY', 'IMAGE_PROHIBITED_CONTENT', 'IMAGE_RECITATION'],
]);

/** The model wrote an unusable answer; before any content, another try may succeed. */
const failures: ReadonlySet<string> = new Set([
  ...['MALFORMED_FUNCTION_CALL', 'MALFORMED_RESPONSE', 'UNEXPECTED_TOOL_CALL', 'TOO_MANY_TOOL_CALLS'],
  'MISSING_THOUGHT_SIGNATURE',
]);

export function isFailure(reason: string): boolean {
  return failures.has(reason);
}

interface ReadFinish {
  readonly finish: FinishReason;
  /** The reason is not that of a natural end. */
  readonly isAssumed?: true;
}

/** @param reason Empty: the upstream has not said. */
export function decodeFinishReason(reason: string): ReadFinish {
  if (reason === 'STOP') return { finish: 'stop' };
  // `CONTINUATION` is asked for by a member that is never sent.
  if (reason === 'MAX_TOKENS' || reason === 'CONTINUATION') return { finish: 'length' };
  return filters.has(reason) ? { finish: 'content-filter' } : { finish: 'stop', isAssumed: true };
}
