// Why did an answer end, in the words of this dialect?

import { asRecord } from '../../json/record.ts';
import type { FinishReason } from '../conversation.ts';

/** Of a response that came to its end, whole or not. */
export function decodeResponsesFinish(response: Readonly<Record<string, unknown>>): FinishReason {
  if (response.status !== 'incomplete') return 'stop';
  // Whatever else the reason is, the answer was cut short.
  return asRecord(response.incomplete_details)?.reason === 'content_filter' ? 'content-filter' : 'length';
}

/** Not ended: its provider goes on generating. */
export function isInProgress(status: unknown): status is 'queued' | 'in_progress' {
  return status === 'queued' || status === 'in_progress';
}

export type ResponseEnd =
  | { readonly status: 'completed'; readonly reason: null }
  | { readonly status: 'incomplete'; readonly reason: 'max_output_tokens' | 'content_filter' };

/** @param isRefusal The model itself refused: that is an answer, and clients must not try again. */
export function encodeResponsesFinish(finish: FinishReason, isRefusal: boolean): ResponseEnd {
  switch (finish) {
    case 'length':
    case 'context-full':
      return { status: 'incomplete', reason: 'max_output_tokens' };
    case 'content-filter':
      return isRefusal
        ? { status: 'completed', reason: null }
        : { status: 'incomplete', reason: 'content_filter' };
    case 'stop':
    case 'stop-sequence':
    case 'tool-calls':
    case 'pause':
      return { status: 'completed', reason: null };
  }
}
