// How much output did an upstream send without counting it? A plain answer holds all of it; of a stream there are the number of its
// events and a sample of their text. Pure.

import type { AttemptResult } from '../attempt/attempt-io.ts';
import { estimateTokens } from '../dialects/answer/estimate-tokens.ts';
import { sampledText } from '../dialects/answer/sample-text.ts';

interface UncountedAnswer {
  /** By our own count without a vocabulary. */
  readonly tokens: number;
  /** Its text, or the beginning; undefined if none was kept. */
  readonly text: string | undefined;
  /** Characters of all of it. */
  readonly length: number | undefined;
}

/** Most upstreams send a token an event, and then events are the better count; some send whole sentences. */
const coarseTokens = 2;

export function uncountedAnswer({
  uncounted,
  sample,
  outputEstimate,
}: Pick<AttemptResult<unknown>, 'uncounted' | 'sample' | 'outputEstimate'>): UncountedAnswer {
  const { text, events } = sample === undefined ? { text: '', events: 0 } : sampledText(sample);
  if (events === 0) return { tokens: outputEstimate, text: uncounted, length: uncounted?.length };
  // The rest of the answer is assumed to be like its beginning.
  const times = Math.max(1, outputEstimate / events);
  const tokens = estimateTokens(text);
  return {
    tokens: tokens < events * coarseTokens ? outputEstimate : Math.ceil(tokens * times),
    text,
    length: Math.ceil(text.length * times),
  };
}
