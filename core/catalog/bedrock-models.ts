// Which dialects does a model at Bedrock speak? Its id has the vendor in front, behind a geography; of some ARNs the id is the last part.

import type { UpstreamApi } from './dialects.ts';

/** Undefined: the name does not say, as that of an application's own profile. */
export function bedrockApisOf(upstreamModel: string): readonly UpstreamApi[] | undefined {
  const id = upstreamModel
    .replace(/^arn:.*:(foundation-model|inference-profile)\//, '')
    .replace(/^(us|eu|apac|au|jp|in|us-gov|global)\./, '');
  if (/^anthropic\.claude-/.test(id)) return ['Messages'];
  if (/^(openai|xai)\./.test(id)) return ['ChatCompletions', 'Responses'];
  return undefined;
}
