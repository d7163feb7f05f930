// Which headers of messages do clouds take for Claude? They know the first version of the API alone, whatever the client speaks, and a
// part of the betas, some by another name: `betas.ts` of each cloud says which.

import type { UpstreamAsk } from './address.ts';

/**
 * The name of a beta at the cloud; undefined: it is not sent. A cloud refuses the whole request for one beta that it does not know, and
 * clients send new ones every month: only betas that a cloud is known to take are sent.
 */
export type BetaFor = (beta: string, ask: UpstreamAsk) => string | undefined;

/**
 * @param headers Names in lower case and values in turn.
 * @param version What `anthropic-version` is to say; undefined: the header is left out.
 */
export function claudeHeaders(
  ask: UpstreamAsk,
  headers: readonly string[],
  version: string | undefined,
  betaFor: BetaFor,
): string[] {
  const kept: string[] = [];
  for (let at = 0; at < headers.length; at += 2) {
    const name = headers[at] ?? '';
    const value = valueAt(ask, name, headers[at + 1] ?? '', version, betaFor);
    if (value !== undefined) kept.push(name, value);
  }
  return kept;
}

/** Undefined: the header is left out. */
function valueAt(
  ask: UpstreamAsk,
  name: string,
  value: string,
  version: string | undefined,
  betaFor: BetaFor,
): string | undefined {
  if (name === 'anthropic-version') return version;
  if (name !== 'anthropic-beta') return value;
  const known: string[] = [];
  for (const beta of value.split(',')) {
    const there = betaFor(beta.trim(), ask);
    if (there !== undefined && !known.includes(there)) known.push(there);
  }
  return known.length === 0 ? undefined : known.join(',');
}

/** As Foundry and Bedrock know it. What the later one forbids, this one takes. */
export const firstVersion = '2023-06-01';

/**
 * @param taken Betas that have the same name at the cloud.
 * @param renamed Names at the cloud by the names at Anthropic.
 */
export function betaNames(
  taken: readonly string[],
  renamed: Readonly<Record<string, string>> = {},
): ReadonlyMap<string, string> {
  return new Map([...taken.map((beta) => [beta, beta] as const), ...Object.entries(renamed)]);
}

/**
 * Whether a beta is refused for this model, though the cloud takes it for others. Only the models named here think between their tool calls
 * by the beta; newer ones do so anyway, and for models without it the beta is refused:
 * https://platform.claude.com/docs/en/build-with-claude/extended-thinking#interleaved-thinking
 */
export function isForOtherModels(beta: string, model: string): boolean {
  return beta === 'interleaved-thinking-2025-05-14' && !/claude-(?:sonnet-4|opus-4(?!-[678]))/.test(model);
}
