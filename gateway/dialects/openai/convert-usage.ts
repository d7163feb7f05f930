// How do the OpenAI text dialects count tokens? The usage object of chat completions and
// completions, to and from our own counts.

import type { Usage } from '../../contract/ledger-record.ts';
import { asRecord } from '../../json/record.ts';
import { believeCount } from '../answer/believe-count.ts';

/**
 * Reads a usage object leniently; undefined where it holds no counts. Prompt tokens include cached
 * ones, completion tokens include reasoning ones; where a provider leaves reasoning out of the
 * completion tokens, the total still has it.
 */
export function readOpenAiUsage(value: unknown): Usage | undefined {
  const usage = asRecord(value);
  const prompt = count(usage?.prompt_tokens);
  const completion = count(usage?.completion_tokens);
  if (!usage || (prompt === undefined && completion === undefined)) return undefined;
  const total = count(usage.total_tokens) ?? 0;
  const input = prompt ?? Math.max(0, total - (completion ?? 0));
  const output = Math.max(completion ?? 0, total - input);
  const promptDetails = asRecord(usage.prompt_tokens_details);
  const completionDetails = asRecord(usage.completion_tokens_details);
  // The latter is DeepSeek's.
  const cached = count(promptDetails?.cached_tokens) ?? count(usage.prompt_cache_hit_tokens) ?? 0;
  const cachedInput = Math.min(cached, input);
  return {
    input,
    cachedInput,
    cacheWrite: Math.min(count(promptDetails?.cache_write_tokens) ?? 0, input - cachedInput),
    output,
    reasoning: Math.min(
      count(completionDetails?.reasoning_tokens) ?? output - (completion ?? output),
      output,
    ),
  };
}

/** The three counts every client knows, and the details only where there are any. */
export function encodeOpenAiUsage(usage: Usage): Record<string, unknown> {
  return {
    prompt_tokens: usage.input,
    completion_tokens: usage.output,
    total_tokens: usage.input + usage.output,
    ...(usage.cachedInput + usage.cacheWrite > 0
      ? { prompt_tokens_details: { cached_tokens: usage.cachedInput, cache_write_tokens: usage.cacheWrite } }
      : {}),
    ...(usage.reasoning > 0 ? { completion_tokens_details: { reasoning_tokens: usage.reasoning } } : {}),
  };
}

/** Some tell the counts so far with each event. What has been put out does not become less. */
export function laterUsage(known: Usage | undefined, later: Usage): Usage {
  return known === undefined || later.output >= known.output ? later : known;
}

/** The sum over several upstream calls of one request. */
export function addUsage(a: Usage, b: Usage): Usage {
  return {
    input: a.input + b.input,
    cachedInput: a.cachedInput + b.cachedInput,
    cacheWrite: a.cacheWrite + b.cacheWrite,
    output: a.output + b.output,
    reasoning: a.reasoning + b.reasoning,
  };
}

/** Perhaps in quotes. */
function count(value: unknown): number | undefined {
  return believeCount(typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value);
}
