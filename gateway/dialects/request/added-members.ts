// Which members does the gateway add to a request that an upstream of the dialect may not know? A caller must never be refused for
// one of them.

import type { UpstreamError } from '../dialect.ts';

/** What every upstream of a dialect knows, its model say, is not among them. */
const addedMembers = [
  'stream_options',
  'store',
  'n',
  'top_p',
  'presence_penalty',
  'frequency_penalty',
] as const;

/**
 * The one of them that an upstream refuses with this error, in one of the ways that are common:
 *
 *   param: "store"                                             OpenAI
 *   Unrecognized request argument supplied: stream_options      Azure (songquanpeng/one-api#1423)
 *   Unknown parameter: 'stream_options'.                        OpenAI
 *   body.stream_options.include_usage: Extra inputs are …      FastAPI, so Mistral and vLLM (avante-corp/avante.nvim#2347)
 */
export function refusedMember({ message, param }: UpstreamError): string | undefined {
  const [inParam = ''] = param?.split('.') ?? [];
  if (inParam === '' && !unknownMember.test(message)) return undefined;
  const named = new Set([inParam, ...message.matchAll(marked).map(([, ...names]) => names.find(Boolean))]);
  return addedMembers.find((name) => named.has(name));
}

/** A name of a tool or of a property, in an error about it, is no member that is refused. */
const unknownMember =
  /\b(?:unknown|unrecogni[sz]ed|unsupported|unexpected|extra (?:inputs?|fields?)|extra_forbidden|not (?:supported|permitted|allowed)|additional properties)\b/i;

/** A word counts as a parameter's name only if it is marked as one: in quotes, after `body.`, or after the colon of such a sentence. */
const marked =
  /['"`]([a-z_]{1,30})['"`]|\bbody\.([a-z_]{1,30})\b|\b(?:argument|parameter|field|option)s?(?: [a-z]{1,15})?: ?([a-z_]{1,30})\b/g;
