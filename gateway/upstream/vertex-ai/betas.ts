// Which betas of Claude does Vertex AI take, and by which names? Others are refused: "Unexpected value(s) for the `anthropic-beta` header".

import { type BetaFor, betaNames, isForOtherModels } from '../claude-headers.ts';

/**
 * As of 2026-11-28, from https://github.com/BerriAI/litellm/blob/main/litellm/anthropic_beta_headers_config.json and the platforms named in
 * https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages. Seen to be refused:
 *
 * | Beta | Source |
 * | --- | --- |
 * | `effort-2025-11-24` | https://github.com/anthropics/claude-code/issues/34802; effort needs no beta any more |
 * | `prompt-caching-scope-2026-01-05` | https://github.com/anthropics/claude-code/issues/21625 |
 * | `structured-outputs-2025-11-13` | https://github.com/vercel/ai/issues/10981 |
 * | `oauth-2025-04-20` | https://github.com/tombii/better-ccflare/issues/47 |
 */
const names = betaNames(
  [
    'compact-2026-01-12',
    'compact-2026-09-04',
    'computer-use-2025-01-24',
    'computer-use-2025-11-24',
    'context-1m-2025-08-07',
    'context-management-2025-06-27',
    'dangerous-tool-use-2026-09-03',
    'interleaved-thinking-2025-05-14',
    'mid-conversation-tool-changes-2026-07-01',
    'per-turn-control-2026-07-01',
    'thinking-binding-controls-2026-08-01',
    'thinking-display-updates-2026-08-18',
    'tool-search-tool-2025-10-19',
    'web-search-2025-03-05',
  ],
  { 'advanced-tool-use-2025-11-20': 'tool-search-tool-2025-10-19' },
);

/** https://github.com/anthropics/claude-code/issues/11154. */
const refusedInCounts: ReadonlySet<string> = new Set(['context-1m-2025-08-07', 'web-search-2025-03-05']);

export const vertexBeta: BetaFor = (beta, { model, operation }) => {
  if (isForOtherModels(beta, model)) return undefined;
  if (operation === 'count-tokens' && refusedInCounts.has(beta)) return undefined;
  return names.get(beta);
};
