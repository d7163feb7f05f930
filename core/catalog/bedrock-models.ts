// Which dialects does a model at Bedrock speak? Its id has the vendor in front, behind a geography; of some ARNs the id is the last part.

import type { UpstreamApi } from './dialects.ts';

/** Every model speaks Converse: also one whose name does not say its maker, as that of an application's own profile. */
export function bedrockApisOf(upstreamModel: string): readonly UpstreamApi[] {
  const id = upstreamModel
    .replace(/^arn:.*:(foundation-model|inference-profile)\//, '')
    .replace(/^(us|eu|apac|au|jp|in|us-gov|global)\./, '');
  // The third generation has no path for messages.
  if (/^anthropic\.claude-(?!3|v\d|instant)/.test(id)) return ['Messages'];
  if (/^(openai|xai)\./.test(id)) return ['ChatCompletions', 'Responses'];
  return ['Converse'];
}
