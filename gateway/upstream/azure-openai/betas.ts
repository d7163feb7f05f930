// Which betas of Claude does Foundry take? Others are refused: "Unexpected value(s) for the `anthropic-beta` header".

import { type BetaFor, betaNames } from '../claude-headers.ts';

/**
 * As of 2026-11-28, from https://github.com/BerriAI/litellm/blob/main/litellm/anthropic_beta_headers_config.json. Seen to be refused:
 * `advisor-tool-2026-03-01` (https://github.com/anthropics/claude-code/issues/46105).
 */
const names = betaNames([
  'advanced-tool-use-2025-11-20',
  'code-execution-2025-08-25',
  'computer-use-2025-01-24',
  'computer-use-2025-11-24',
  'context-1m-2025-08-07',
  'context-management-2025-06-27',
  'dangerous-tool-use-2026-09-03',
  'effort-2025-11-24',
  'files-api-2025-04-14',
  'interleaved-thinking-2025-05-14',
  'mcp-client-2025-04-04',
  'mcp-client-2025-11-20',
  'per-turn-control-2026-07-01',
  'prompt-caching-scope-2026-01-05',
  'skills-2025-10-02',
  'structured-outputs-2025-11-13',
  'thinking-display-updates-2026-08-18',
  'web-fetch-2025-09-10',
  'web-search-2025-03-05',
]);

export const foundryBeta: BetaFor = (beta) => names.get(beta);
