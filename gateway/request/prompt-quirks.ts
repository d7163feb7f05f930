// What do programs put before a prompt that is no part of it? One row each: only for accounts of the program's vendor, and different
// in every call or release, so that no two calls would begin alike.

interface PromptQuirk {
  readonly client: string;
  /** The first line begins with it. */
  readonly start: string;
  /** The line in JSON, alone in its block or before more text. The first group is the part before the line. */
  readonly inJson: RegExp;
  readonly source: string;
  /** Month in which it was written there. */
  readonly seen: string;
}

export const promptQuirks: readonly PromptQuirk[] = [
  {
    client: 'Claude Code',
    start: 'x-anthropic-billing-header:',
    inJson: /^(\[\s*\{[^{}]*?"text"\s*:\s*)?"x-anthropic-billing-header:(?:[^"\\]|\\(?!n).)*(?:\\n)?/,
    source: 'https://github.com/anthropics/claude-code/issues/68900',
    seen: '2026-06',
  },
];
