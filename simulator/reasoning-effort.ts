// How many tokens does the simulator think for an effort? A fixed table, small so that tests stay small.

/** Unknown efforts think like `medium`: the vendors keep adding words. */
export function reasoningTokensOf(effort: string): number {
  return (Object.hasOwn(tokensByEffort, effort) ? tokensByEffort[effort] : undefined) ?? 16;
}

const tokensByEffort: Record<string, number> = {
  none: 0,
  minimal: 4,
  low: 8,
  medium: 16,
  high: 32,
  xhigh: 64,
  max: 128,
};
