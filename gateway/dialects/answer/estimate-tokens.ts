// How many tokens does a text have, if the upstream reported no usage?

import type { Usage } from '../../../core/contract/ledger-record.ts';

/**
 * About four characters of English a token: OpenAI's own rule of thumb. Other scripts take more: by the bytes that a character has
 * beyond its first, Greek and Cyrillic come to 0.4 tokens a character, Chinese and Japanese to 0.6.
 */
export function estimateTokens(text: string): number {
  return Math.ceil(text.length / 4 + (Buffer.byteLength(text) - text.length) * 0.175);
}

/** Of an answer that is all there: what its upstream has counted, or an estimate, and the text for a better one. */
export function outputOf(
  usage: Usage | undefined,
  textOf: () => string,
): { readonly outputEstimate: number; readonly uncounted?: string } {
  // Where one of them is 0 it may be no count, see `believeUsage`.
  if (usage && usage.input > 0 && usage.output > 0) return { outputEstimate: usage.output };
  const uncounted = textOf();
  return { outputEstimate: estimateTokens(uncounted), uncounted };
}

/** As `estimateTokens`, for a text of which only the length is known. */
export function estimateTokensOfLength(length: number): number {
  return Math.ceil(length / 4);
}
