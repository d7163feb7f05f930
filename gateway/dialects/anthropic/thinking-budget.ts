// How many thinking tokens does an effort get? `request/reasoning-effort.ts` converts in the other direction.

/** The smallest budget the dialect allows. */
export const budgetMin = 1024;

/** Undefined: the effort has no budget. */
export function budgetOf(effort: string): number | undefined {
  switch (effort) {
    case 'minimal':
    case 'low':
      return budgetMin;
    case 'medium':
      return 4096;
    case 'high':
      return 16_384;
    case 'xhigh':
      return 32_768;
    default:
      return undefined;
  }
}
