// Which betas of Claude does Bedrock take, and by which names? Others are refused: "invalid beta flag".

import { type BetaFor, betaNames, isForOtherModels } from '../claude-headers.ts';

/**
 * As of 2026-11-28, from https://github.com/BerriAI/litellm/blob/main/litellm/anthropic_beta_headers_config.json and
 * https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-anthropic-claude-messages-request-response.html. What
 * `bedrock-mantle` takes beyond them, `bedrock-runtime` may refuse. Seen to be refused:
 *
 * | Beta | Source |
 * | --- | --- |
 * | `claude-code-20250219`, by some models; it asks for nothing | https://github.com/anthropics/claude-code/issues/49370 |
 * | `oauth-…`, `prompt-caching-scope-…`, `fast-mode-…` | https://github.com/router-for-me/CLIProxyAPI/issues/4750 |
 * | `adaptive-thinking-2026-01-28`, in some regions | https://github.com/coder/aibridge/issues/221 |
 */
const names = betaNames(
  [
    'compact-2026-01-12',
    'computer-use-2025-01-24',
    'computer-use-2025-11-24',
    'context-1m-2025-08-07',
    'context-management-2025-06-27',
    'dangerous-tool-use-2026-09-03',
    'effort-2025-11-24',
    'fine-grained-tool-streaming-2025-05-14',
    'interleaved-thinking-2025-05-14',
    'mid-conversation-output-config-2026-07-01',
    'mid-conversation-tool-changes-2026-07-01',
    'thinking-binding-controls-2026-08-01',
    'thinking-display-updates-2026-08-18',
    'tool-examples-2025-10-29',
    'tool-search-tool-2025-10-19',
  ],
  { 'advanced-tool-use-2025-11-20': 'tool-search-tool-2025-10-19' },
);

export const bedrockBeta: BetaFor = (beta, { model }) =>
  isForOtherModels(beta, model) ? undefined : names.get(beta);
