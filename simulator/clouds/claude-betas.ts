// Which betas of Claude does a cloud refuse? All that it does not know, and one that some of its models do not know.

import type { IncomingHttpHeaders } from 'node:http';

/** Common to the clouds. */
const everywhere = [
  ...['computer-use-2025-01-24', 'computer-use-2025-11-24', 'context-1m-2025-08-07'],
  ...['context-management-2025-06-27', 'dangerous-tool-use-2026-09-03', 'interleaved-thinking-2025-05-14'],
  'thinking-display-updates-2026-08-18',
];

const known = {
  bedrock: new Set([
    ...everywhere,
    ...['compact-2026-01-12', 'effort-2025-11-24', 'fine-grained-tool-streaming-2025-05-14'],
    ...['mid-conversation-output-config-2026-07-01', 'mid-conversation-tool-changes-2026-07-01'],
    ...['thinking-binding-controls-2026-08-01', 'tool-examples-2025-10-29', 'tool-search-tool-2025-10-19'],
  ]),
  foundry: new Set([
    ...everywhere,
    ...['advanced-tool-use-2025-11-20', 'code-execution-2025-08-25', 'effort-2025-11-24'],
    ...[
      'files-api-2025-04-14',
      'mcp-client-2025-04-04',
      'mcp-client-2025-11-20',
      'per-turn-control-2026-07-01',
    ],
    ...['prompt-caching-scope-2026-01-05', 'skills-2025-10-02', 'structured-outputs-2025-11-13'],
    ...['web-fetch-2025-09-10', 'web-search-2025-03-05'],
  ]),
  vertex: new Set([
    ...everywhere,
    ...['compact-2026-01-12', 'compact-2026-09-04', 'mid-conversation-tool-changes-2026-07-01'],
    ...['per-turn-control-2026-07-01', 'thinking-binding-controls-2026-08-01'],
    ...['tool-search-tool-2025-10-19', 'web-search-2025-03-05'],
  ]),
} as const;

/** @param model As the cloud names it; `count-tokens` at Vertex AI. */
export function unknownBetas(
  cloud: keyof typeof known,
  model: string,
  headers: IncomingHttpHeaders,
): readonly string[] {
  const betas = String(headers['anthropic-beta'] ?? '').split(',');
  return betas
    .map((beta) => beta.trim())
    .filter((beta) => beta !== '' && !(known[cloud].has(beta) && fits(cloud, model, beta)));
}

function fits(cloud: keyof typeof known, model: string, beta: string): boolean {
  if (beta === 'interleaved-thinking-2025-05-14')
    return cloud === 'foundry' || model === 'count-tokens' || /claude-(opus-4|sonnet-[45])/.test(model);
  return model !== 'count-tokens' || !/^(context-1m|web-search)-/.test(beta);
}

/** As Anthropic's own front says it, and Google and Microsoft after it. */
export function unexpectedBetas(betas: readonly string[]): object {
  const listed = betas.map((beta) => `\`${beta}\``).join(', ');
  const message = `Unexpected value(s) ${listed} for the \`anthropic-beta\` header. Please consult our documentation at docs.anthropic.com or try again without the header.`;
  return { type: 'error', error: { type: 'invalid_request_error', message }, request_id: 'req_simulated' };
}
