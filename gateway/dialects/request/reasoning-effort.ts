// How much shall a model think, where one dialect counts tokens and the other names a tier?

import type { Reasoning } from '../conversation.ts';

/**
 * The tier of a wish, in OpenAI's words; undefined if the caller leaves it to the model.
 *
 * @param maxOutputTokens A budget of all of it means "no limit", not the highest tier.
 */
export function effortOf(
  { mode, effort, budgetTokens = 0 }: Reasoning,
  maxOutputTokens: number | undefined,
): string | undefined {
  if (mode === 'off') return 'none';
  if (mode === 'adaptive' || effort !== undefined) return effort;
  if (maxOutputTokens !== undefined && budgetTokens >= maxOutputTokens - 1) return 'high';
  if (budgetTokens < 2048) return 'low';
  if (budgetTokens < 8192) return 'medium';
  return budgetTokens < 24_576 ? 'high' : 'xhigh';
}
