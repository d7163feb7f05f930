// How does this dialect count tokens, to and from our own counts?

import type { Usage } from '../../../core/contract/ledger-record.ts';
import { asRecord } from '../../json/record.ts';
import { readOpenAiUsage } from '../openai/convert-usage.ts';

/** Read as leniently as chat completions' counts, which differ in names only. */
export function decodeResponsesUsage(value: unknown): Usage | undefined {
  const usage = asRecord(value);
  return readOpenAiUsage({
    ...usage,
    prompt_tokens: usage?.input_tokens,
    completion_tokens: usage?.output_tokens,
    total_tokens: usage?.total_tokens,
    prompt_tokens_details: usage?.input_tokens_details,
    completion_tokens_details: usage?.output_tokens_details,
  });
}

/** All counts always: clients refuse a usage object whose details are missing or null. */
export function encodeResponsesUsage(usage: Usage): Record<string, unknown> {
  return {
    input_tokens: usage.input,
    input_tokens_details: { cached_tokens: usage.cachedInput, cache_write_tokens: usage.cacheWrite },
    output_tokens: usage.output,
    output_tokens_details: { reasoning_tokens: usage.reasoning },
    total_tokens: usage.input + usage.output,
  };
}
