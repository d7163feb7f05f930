// How does a stream of chat completions or completions end where it breaks?

import type { ErrorObject } from '../../request/errors.ts';

/**
 * The frame that ends a broken stream: the OpenAI SDKs raise on any chunk with an `error` member.
 * Never followed by `[DONE]`, so that a reader who ignores the frame still sees a broken stream.
 */
export function encodeOpenAiErrorFrame(error: ErrorObject): string {
  return `data: ${JSON.stringify({ error })}\n\n`;
}
