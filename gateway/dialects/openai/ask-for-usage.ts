// How is an upstream of the OpenAI text dialects asked to say what a stream has used? Not at all, where it refuses the question.

import type { UpstreamTarget } from '../dialect.ts';

export function askForUsage({ refuses }: Pick<UpstreamTarget, 'refuses'>): Record<string, unknown> {
  return refuses?.has('stream_options') ? {} : { stream_options: { include_usage: true } };
}
