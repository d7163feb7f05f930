// How many tokens is a text, where nobody has counted?

/** About four characters of English a token: OpenAI's own rule of thumb. */
export function estimateTokens(text: string): number {
  return estimateTokensOfLength(text.length);
}

/** As `estimateTokens`, for text that is not at hand. */
export function estimateTokensOfLength(length: number): number {
  return Math.ceil(length / 4);
}
